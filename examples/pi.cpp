/*
 * An example in C++. All ranks throw darts at a square, and the share of hits gives pi. Errors are
 * exceptions, and the destructor of World leaves the job. A rank that ends by an exception is a
 * failed rank, and the others go on without it.
 *
 *     c++ -std=c++11 pi.cpp -o pi $(pkg-config --cflags --libs ftcoll)
 *     ftrun -np 8 -f 2 --kill 3@0.1 ./pi 500 2 5
 *
 * arguments: rounds (default 500), pause after each in milliseconds (default 0), rank that throws
 * an exception halfway (default none)
 */
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <ftcoll.h>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/* An error of the library. what() gives the cause in words. */
class Error : public std::runtime_error
{
  public:
    explicit Error(int error) : std::runtime_error(ftc_last_error()), code(error)
    {
    }
    static void check(int rc)
    {
        if (rc != FTC_SUCCESS)
            throw Error(rc);
    }
    const int code; /* FTC_ERR_* */
};

/* The ftc_type of a C++ type. */
template <typename T> struct Type;
template <> struct Type<std::int64_t> {
    static ftc_type value()
    {
        return FTC_INT64;
    }
};
template <> struct Type<double> {
    static ftc_type value()
    {
        return FTC_DOUBLE;
    }
};

class World
{
  public:
    World()
    {
        Error::check(ftc_init(nullptr, &comm));
    }
    /* ftc_finalize() waits for all other ranks. After an exception they are in another operation,
     * so it is not called then. A rank that ends without it counts as failed. */
    ~World()
    {
        if (!unwinding() && ftc_finalize(comm) != FTC_SUCCESS)
            std::cerr << "pi: " << ftc_last_error() << std::endl;
    }
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    int rank() const
    {
        return ftc_rank(comm);
    }
    int size() const
    {
        return ftc_size(comm);
    }
    template <typename T> void allreduce(std::vector<T> &values, ftc_op op = FTC_SUM)
    {
        Error::check(ftc_allreduce(FTC_IN_PLACE, values.data(), values.size(), Type<T>::value(), op, comm));
    }
    /* The failed set of the last result. It is the same at all survivors. */
    std::vector<int> failed() const
    {
        ftc_report report = ftc_report();
        report.struct_size = sizeof(report);
        Error::check(ftc_last_report(comm, &report));
        return std::vector<int>(report.failed, report.failed + report.failed_count);
    }

  private:
    static bool unwinding()
    {
#if __cplusplus >= 201703L
        return std::uncaught_exceptions() > 0;
#else
        return std::uncaught_exception();
#endif
    }
    ftc_comm *comm = nullptr;
};

/* Returns how many darts hit the circle, and how many were thrown. The sum over the ranks then says
 * how many darts it holds, even if ranks are missing in it. */
static std::vector<std::int64_t> throw_darts(std::mt19937_64 &random, std::int64_t darts)
{
    std::uniform_real_distribution<double> place(-1, 1);
    std::int64_t hits = 0;
    for (std::int64_t i = 0; i < darts; i++) {
        double x = place(random), y = place(random);
        hits += x * x + y * y < 1;
    }
    return {hits, darts};
}

static void run(long rounds, std::chrono::milliseconds pause, int thrower)
{
    World world;
    std::mt19937_64 random(static_cast<unsigned>(world.rank()));
    std::int64_t hits = 0, darts = 0;
    for (long i = 0; i < rounds; i++) {
        if (i == rounds / 2 && world.rank() == thrower)
            throw std::runtime_error("an exception of the program's own");
        std::vector<std::int64_t> sum = throw_darts(random, 1000);
        world.allreduce(sum);
        hits += sum[0];
        darts += sum[1];
        std::this_thread::sleep_for(pause);
    }
    std::cout << "rank " + std::to_string(world.rank()) + ": pi is about " +
                     std::to_string(4.0 * static_cast<double>(hits) / static_cast<double>(darts)) + " by " +
                     std::to_string(darts) + " darts, " + std::to_string(world.failed().size()) + " failed\n";
}

int main(int argc, char **argv)
{
    try {
        run(argc > 1 ? std::atol(argv[1]) : 500, std::chrono::milliseconds(argc > 2 ? std::atol(argv[2]) : 0),
            argc > 3 ? std::atoi(argv[3]) : -1);
    } catch (const std::exception &error) {
        std::cerr << std::string("pi: ") + error.what() + "\n";
        return 1;
    }
    return 0;
}
