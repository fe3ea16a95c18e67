/* The rows of the schema: section, key, need (enum ftc_config_need, without its prefix), member of
 * struct ftc_config, range or names, default, unit, help. The last argument of a row is its help.
 * COMMON behind it marks a setting that most users need. All others are for experts. Each file that
 * includes this one says what a row becomes. */
/* clang-format off */
    INT("job", "f", MASKS, f, 0, 4095, "1", "",
        "How many failures an operation by groups and trees masks without a second round. Others "
        "mask any number or none: ftcoll(7), WHAT F DOES. Less than the number of ranks.", COMMON),

    INT("detector", "heartbeat_period_ms", NOTHING, heartbeat_period_ms, 1, 60000, "250", "ms",
        "Time between two heartbeats of a process.", COMMON),
    INT("detector", "heartbeat_timeout_ms", NOTHING, heartbeat_timeout_ms, 2, 600000, "5000", "ms",
        "A process without a heartbeat for so long is suspected; at least two periods, and 20 in a "
        "job of several hosts.", COMMON),
    BOOL("detector", "fence", NOTHING, fence, "on",
        "Kill suspected processes, and then declare them failed. off: only report them, so that "
        "others wait for them.", COMMON),
    BOOL("detector", "exit_notices", NOTHING, exit_notices, "on",
        "Declare a process failed as soon as its exit is seen. off: leave that to the heartbeats "
        "(for tests)."),

    ENUM("failure_info", "scheme", MESSAGES, scheme, scheme_names, "list",
        "What a reduce carries about failures: a list of all failed ranks, their count, or one "
        "bit. count and bit need messages, also in a job of one node."),
    ENUM("failure_info", "share", MESSAGES, share, share_names, "piggyback",
        "Whether later operations leave out the ranks whose failure all have agreed upon. off "
        "needs messages, also in a job of one node."),

    ENUM("reduce", "tree", SUBTREES, reduce_tree, reduce_tree_names, "heap",
        "The shape of the subtrees of a reduce. chain needs messages, also in a job of one node; "
        "then direct and doubling are none if they are 0."),
    INT("reduce", "arity", HEAP, reduce_arity, 1, 64, "2", "",
        "How many children a process has in the heap."),
    ENUM("reduce", "take", SUBTREES, reduce_take, reduce_take_names, "auto",
        "Which of its f+1 subtrees the root takes, if several are free of failures. lowest: the "
        "lowest one, however long its ranks stand still. first: the first to come. auto: the first "
        "to come where all give the same bits, else the lowest, but for two heartbeat periods at "
        "most."),
    INT("reduce", "direct", DIRECT, reduce_direct, 0, 64, "0", "",
        "Up to so many ranks (with two levels: nodes) send straight to the root, without a tree. "
        "0: 8 in jobs of several nodes, else none."),

    INT("reduce", "doubling", EXCHANGE, reduce_doubling, 0, 64, "0", "",
        "Up to so many ranks (with two levels: nodes) exchange by recursive doubling, so that "
        "all decide at once. A failure then costs a second round. 0: 16 in jobs of several "
        "nodes, else none."),

    ENUM("broadcast", "dissemination", SPREADING, dissemination, dissemination_names, "auto",
        "What spreads a result first. auto: shared memory where all ranks are on one node, else "
        "the tree."),
    ENUM("broadcast", "tree", MESSAGES, tree, tree_names, "binomial",
        "The tree that spreads a result. Along it, a rank that got no result asks for it. kary "
        "and lame need messages, also in a job of one node."),
    INT("broadcast", "arity", ARITY, arity, 1, 64, "2", "",
        "How many children a process has in the kary tree (at least 2), or the order of the lame "
        "tree."),
    ENUM("broadcast", "correction", MESSAGES, correction, correction_names, "auto",
        "How processes that have a result offer it to others in the ring. auto: none for tree, "
        "checked for gossip, ring for multicast. All but auto and none need messages, also in a "
        "job of one node."),
    INT("broadcast", "distance", DISTANCE, distance, 0, 4096, "0", "",
        "To how many neighbours opportunistic and optimised correction send. 0: 2, or 4 after "
        "gossip."),
    INT("broadcast", "correction_delay_us", PACE, correction_delay_us, 0, 1000000, "1000", "us",
        "Time between two correction messages of a process. 0: they go as fast as they can be "
        "sent."),
    INT("broadcast", "patience_us", PATIENCE, patience_us, 0, 600000000, "10000", "us",
        "How long a rank waits for what should come by itself, before it asks for it. 0: for "
        "ever."),
    ENUM("broadcast", "gossip_bound", ROUNDS, gossip_bound, bound_names, "rounds",
        "What the rounds of gossip count: messages on a path, or the time of messages."),
    INT("broadcast", "gossip_rounds", ROUNDS, gossip_rounds, 0, 1000, "0", "",
        "How many rounds of gossip a root grants. 0: twice the binary logarithm of the ranks, "
        "and some more."),
    INT("broadcast", "gossip_hop", HOPS, gossip_hop, 1, 1000, "4", "",
        "For how many rounds a message of gossip is on its way, where rounds count time."),
    INT("broadcast", "seed", ROUNDS, broadcast_seed, 0, INT64_C(1) << 62, "1", "",
        "The seed of the random targets of gossip."),
    INT("broadcast", "settle_every", MESSAGES, settle_every, 0, 1000000, "64", "",
        "Of so many broadcasts in a row, one also collects from all ranks. A broadcast counts "
        "once, and once more for each 32 KiB. 0: none does."),

    LIST("transport", "order", PEERS, transport_order, carrier_names, "shm,verbs,tcp",
        "The ways for messages to another rank; the first that reaches it is taken. shm reaches "
        "ranks of the same node, verbs reaches ranks on a network with RDMA, tcp reaches all. "
        "Without shm, messages are used in a job of one node, too.", COMMON),
    STRING("transport", "tcp_address", TCP, tcp_address, "",
        "The address or interface at which ranks and agents listen for tcp; of an interface, its "
        "first address. They listen nowhere else. Empty: they listen at all addresses, and "
        "others try each.", COMMON),
    STRING("transport", "agent_address", HOSTS, agent_address, "",
        "The address or interface at which agents listen, if it is not that of the ranks. Empty: "
        "tcp_address."),
    INT("transport", "tcp_port", TCP, tcp_port, 0, 65535, "0", "",
        "The first port at which the ranks of a host and its agent listen for tcp. 0: any free "
        "ports.", COMMON),
    INT("transport", "tcp_port_last", TCP, tcp_port_last, 0, 65535, "0", "",
        "The last of these ports. A host needs one for each of its ranks, and one for its agent "
        "if the job has several hosts. 0: tcp_port is the only one.", COMMON),
    STRING("transport", "tcp_congestion", TCP, tcp_congestion, "",
        "The congestion control of tcp between ranks, by the name that the system has for it. "
        "Empty: the choice of the system, but cubic or reno where that is bbr."),
    ENUM("transport", "seal", TCP, seal, seal_names, "off",
        "What protects messages by tcp from hosts on their way. authenticate: a changed message "
        "breaks its connection, and is sent again. encrypt: messages cannot be read, either. All "
        "hosts need the same value. Agents authenticate in any case. Verbs are left out if this "
        "is not off.", COMMON),
    STRING("transport", "verbs_device", VERBS, verbs_device, "",
        "RDMA devices, or network interfaces or addresses of such devices, separated by commas. "
        "The ranks take them in turn. An address also decides which GID is used. Empty: the "
        "first device whose port is up.", COMMON),
    INT("transport", "verbs_port", VERBS, verbs_port, 0, 65535, "0", "",
        "The TCP port at which a rank listens for other ranks that want to reach its device; the "
        "first of a range if verbs_port_last is set. 0: any free port."),
    INT("transport", "verbs_port_last", VERBS, verbs_port_last, 0, 65535, "0", "",
        "The last port of that range, in which each rank of a node takes one. 0: there is no "
        "range."),
    INT("transport", "verbs_memory", VERBS, verbs_memory, 0, INT64_C(1) << 40, "0", "bytes",
        "How much memory a rank registers with its device at most, for all other ranks together. "
        "0: 16 MiB, or 24 KiB for each rank of the job if that is more."),
    INT("transport", "verbs_timeout_ms", VERBS, verbs_timeout_ms, 100, 600000, "2000", "ms",
        "A device that does not answer for so long counts as out of reach. The first messages to "
        "its rank then go another way. Later, the connection to the device is made anew."),

    ENUM("multicast", "transport", CARRIER, multicast_transport, transport_names, "udp",
        "What carries datagrams to all ranks at once: UDP multicast, or unreliable datagrams of "
        "InfiniBand (verbs). off refuses them. They are neither encrypted nor authenticated: a "
        "process that shares the host or link can read and forge them."),
    STRING("multicast", "interface", MULTICAST, multicast_interface, "",
        "Network interfaces or addresses, or devices, separated by commas. The ranks take them "
        "in turn. By name it is IPv6 where the interface multicasts by IPv6, else IPv4. An "
        "address decides between the two. IPv6 groups have 112 random bits, IPv4 groups 24. "
        "Empty: the loopback, or the first device."),
    INT("multicast", "receives", MULTICAST, multicast_receives, 1, 4096, "5", "",
        "How many datagrams may wait for a process: posted receives, or for udp room in the "
        "socket's buffer. Further datagrams are lost, and are repaired."),
    INT("multicast", "least_ranks", MULTICAST, multicast_least_ranks, 2, 1048576, "8", "",
        "With fewer ranks every decision goes down the tree, also that of an allreduce or a "
        "barrier."),
    INT("multicast", "most_bytes", MULTICAST, multicast_most_bytes, 0, INT64_C(1) << 40, "65536",
        "bytes",
        "A decision with a larger value goes down the tree, also that of an allreduce."),

    ENUM("collectives", "rotation", MESSAGES, rotation, rotation_names, "first",
        "Which rank coordinates an operation without a root: the first live one, or each in turn."),
    ENUM("collectives", "prepare", MESSAGES, prepare, prepare_names, "direct",
        "How a second round reaches the ranks: straight from its coordinator, or along a tree."),
    ENUM("collectives", "algorithm", PEERS, algorithm, algorithm_names, "auto",
        "board: in shared memory, if all ranks are on one node. corrected: by messages with "
        "correction. auto chooses.", COMMON),
    ENUM("collectives", "levels", PEERS, levels, levels_names, "auto",
        "How operations go on several nodes. auto: in shared memory within a node, and by "
        "messages between one rank of each, where that can be. 1: by messages among all ranks."),
    BOOL("collectives", "direct_copies", PEERS, direct_copies, "on",
        "Let ranks copy large values straight between their memories, where the kernel "
        "allows it."),
    ENUM("collectives", "large", LARGE, large, large_names, "auto",
        "How collectives of large values go by messages. ring: by an exchange that survives no "
        "death, an allreduce round a ring; then the result is committed, or the exchange runs "
        "again. off: as small ones. auto: ring where a job has several nodes. With ring a job of "
        "one node goes by messages, too. The two ways add floating-point numbers in a different "
        "order."),
    INT("collectives", "large_at", RING, large_at, 0, INT64_C(1) << 40, "262144", "bytes",
        "A value of so many bytes or more is large. The contributions of all ranks count together "
        "where they stay apart, as in an allgather."),

    ENUM("integrity", "mode", COMPARED, integrity, integrity_names, "none",
        "What helps against silent corruption, by messages. checksum: a process whose memory is "
        "damaged dies. vote: the f+1 results of a reduce or allreduce are compared, which "
        "detects corruption from f = 1 and corrects it from f = 2.", COMMON),

    ENUM("gossip", "algorithm", PEERS, gossip_algorithm, gossip_algorithm_names, "pfcc",
        "How ftc_gossip_allreduce() aggregates. pflc and pfcc heal flipped bits; all but "
        "push-sum heal lost messages.", COMMON),
    ENUM("gossip", "neighbourhood", PEERS, gossip_neighbourhood, neighbourhood_names, "hypercube",
        "To which ranks a rank sends in ftc_gossip_allreduce(). pfcc and push-cancel-flow do not "
        "take directed-hypercube."),
    REAL("gossip", "accuracy", PEERS, gossip_accuracy, 1, NULL, "1e-9",
        "The error of the result of ftc_gossip_allreduce(), relative to its largest element.",
        COMMON),
    REAL("gossip", "tau", CHECKSUMS, gossip_tau, INT64_C(1000000000000000), auto_names, "auto",
        "By how much the checksum of a flow may be off in pflc and pfcc; a flow whose checksum is off "
        "by more is corrupt. It counts in the unit of the inputs times their weights. auto: thresholds "
        "from the estimate and from rounding, which suit all inputs."),
    BOOL("gossip", "turns", PEERS, gossip_turns, "on",
        "The two ends of a link send in turns, where algorithm and neighbourhood allow it, so "
        "that no messages cross."),
    INT("gossip", "patience_us", PEERS, gossip_patience_us, 100, 600000000, "2000", "us",
        "A rank that got no message for so long sends one by itself. That makes up for lost "
        "messages."),
    INT("gossip", "most_messages", PEERS, gossip_most_messages, 0, INT64_C(1) << 40, "5000", "",
        "A rank that has sent so many gives up, and the operation ends without a result. 0: it "
        "never gives up."),
    INT("gossip", "most_seconds", PEERS, gossip_most_seconds, 0, 1000000, "60", "s",
        "A rank also gives up when it has gossiped for so long since it heard of all its "
        "neighbours. 0: it never does."),

    PERCENT("drill", "message_loss", PEERS, drill_message_loss_ppm, 99, "0",
        "Test switch: the share of the messages of gossip aggregation that a process drops. Some "
        "have to come, or the aggregation never ends."),
    PERCENT("drill", "multicast_loss", MULTICAST, drill_loss_ppm, 100, "0",
        "Test switch: the share of datagrams that a process drops. preset is the loss that "
        "Hoefler, Siebert, Rehm 2007 measured."),
    PERCENT("drill", "multicast_duplicate", MULTICAST, drill_duplicate_ppm, 100, "0",
        "Test switch: the share of datagrams that a process takes twice."),
    PERCENT("drill", "multicast_reorder", MULTICAST, drill_reorder_ppm, 100, "0",
        "Test switch: the share of datagrams that a process takes after the next one to four."),
    PERCENT("drill", "multicast_corrupt", MULTICAST, drill_corrupt_ppm, 100, "0",
        "Test switch: the share of datagrams that a process damages before it looks at them."),
    PERCENT("drill", "multicast_foreign", MULTICAST, drill_foreign_ppm, 100, "0",
        "Test switch: the share of datagrams before which one of another job comes in."),
    INT("drill", "seed", DRILLS, drill_seed, 0, INT64_C(1) << 62, "1", "",
        "Test switch: the seed of all that the switches above draw."),
    STRING("drill", "flip", NOTHING, drill_flip, "",
        "Test switch: bits that turn over. Each is RANK:VARIABLE[.ELEMENT]:BIT@[OPERATION/]STEP "
        "or random:SEED; commas separate them. VARIABLE is input, up, partial, decision, message "
        "or head; in gossip aggregation it is input, flow, weight, checksum, estimate, message "
        "or head. random turns one over in each operation of gossip."),

    ENUM("mpi", "failures", NOTHING, mpi_failures, mpi_failures_names, "auto",
        "What a program of MPI is told when a rank fails. mask: nothing, the rank is left out. raise: "
        "the error MPIX_ERR_PROC_FAILED. auto: mask where errors of the communicator are fatal, and "
        "raise where the program handles them."),

    BOOL("trace", "history", PEERS, history, "on",
        "Record the last operations of each rank in shared memory, for ftcoll-status --history, "
        "ftrun --timeout, --report and --trace."),

    ENUM("log", "level", NOTHING, log_level, level_names, "warn",
        "The least important kind of log line that is written.", COMMON),
/* clang-format on */
