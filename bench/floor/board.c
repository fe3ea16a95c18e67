#include "bench/floor/board.h"

#include <sys/mman.h>

bool board_open(struct board *board, int ranks)
{
    static const struct patience patience = {"yield, then sleep", 40, pause_yield};
    *board = (struct board){.ranks = ranks, .patience = &patience};
    board->channels = mmap(NULL, (size_t)ranks * sizeof(board->channels[0]), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return board->channels != MAP_FAILED;
}

unsigned char *board_slot(struct board *board, int first, int last)
{
    struct channel *channel = &board->channels[board->self];
    for (int reader = first; reader <= last; reader++)
        if (reader != board->self)
            signal_await(&channel->seen[reader], board->posts - (BOARD_SLOTS - 1), board->patience);
    return channel->slots[board->posts % BOARD_SLOTS];
}

void board_post(struct board *board)
{
    signal_set(&board->channels[board->self].posted, ++board->posts);
}

const unsigned char *board_next(struct board *board, int from)
{
    struct channel *channel = &board->channels[from];
    signal_await(&channel->posted, board->taken[from] + 1, board->patience);
    return channel->slots[board->taken[from] % BOARD_SLOTS];
}

void board_took(struct board *board, int from)
{
    signal_set(&board->channels[from].seen[board->self], ++board->taken[from]);
}

void board_forget(struct board *board)
{
    for (int from = 0; from < board->ranks; from++) {
        board->taken[from] = atomic_load(&board->channels[from].posted.count);
        signal_set(&board->channels[from].seen[board->self], board->taken[from]);
    }
}
