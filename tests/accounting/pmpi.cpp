// The shim: functions of MPI's names that note the call and pass it on. What libraries call comes here too,
// since a program's symbols come before those of shared libraries.
// test: program accounting nn optim mixed_precision
#include "pmpi.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>

namespace pmpi {

namespace {

std::array<call, 4096> calls;
std::size_t count = 0;
bool is_recording = false;
int until_failure = -1;  // none is due

/// A count that is given for each process, for all of them.
std::int64_t of_all(int each, MPI_Comm communicator) {
  int size = 1;
  PMPI_Comm_size(communicator, &size);
  return std::int64_t{each} * size;
}

/// Elements that are sent to process `to`, which may be nobody.
int sent_to(int to, int elements) { return to == MPI_PROC_NULL ? 0 : elements; }

bool fails() { return until_failure >= 0 && until_failure-- == 0; }

void note(char const* function, std::int64_t elements, MPI_Datatype type, MPI_Comm communicator) {
  if (!is_recording) return;
  if (count == calls.size()) std::abort();  // more than any test here makes
  call& c = calls[count++];
  int n   = 0;
  if (type != MPI_DATATYPE_NULL) PMPI_Type_size(type, &n);
  c = {.function = function, .bytes = elements * n, .type = type};
  if (communicator != MPI_COMM_NULL) PMPI_Comm_get_name(communicator, c.communicator, &n);
}

}  // namespace

void start() {
  count        = 0;
  is_recording = true;
}

std::span<call const> stop() {
  is_recording = false;
  return {calls.data(), count};
}

void fail_after(int n) { until_failure = n; }

}  // namespace pmpi

// The function's name, parameters, arguments; elements of the send buffer (in place: of the part that the
// others get), their type, and the communicator.
#define WATCHED(name, parameters, arguments, elements, type, communicator) \
  int MPI_##name parameters {                                              \
    if (pmpi::fails()) return MPI_ERR_OTHER;                               \
    pmpi::note(#name, elements, type, communicator);                       \
    return PMPI_##name arguments;                                          \
  }

extern "C" {

using pmpi::of_all, pmpi::sent_to;

// collectives
WATCHED(Allreduce, (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f), (a, b, c, d, e, f),
        c, d, f)
WATCHED(Reduce, (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, int f, MPI_Comm g),
        (a, b, c, d, e, f, g), c, d, g)
WATCHED(Reduce_scatter, (void const* a, void* b, int const c[], MPI_Datatype d, MPI_Op e, MPI_Comm f),
        (a, b, c, d, e, f), 0, d, f)
WATCHED(Reduce_scatter_block, (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
        (a, b, c, d, e, f), of_all(c, f), d, f)
WATCHED(Allgather, (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g),
        (a, b, c, d, e, f, g), a == MPI_IN_PLACE ? e : b, a == MPI_IN_PLACE ? f : c, g)
WATCHED(Allgatherv,
        (void const* a, int b, MPI_Datatype c, void* d, int const e[], int const f[], MPI_Datatype g,
         MPI_Comm h),
        (a, b, c, d, e, f, g, h), b, c, h)
WATCHED(Alltoall, (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g),
        (a, b, c, d, e, f, g), of_all(a == MPI_IN_PLACE ? e : b, g), a == MPI_IN_PLACE ? f : c, g)
WATCHED(Alltoallv,
        (void const* a, int const b[], int const c[], MPI_Datatype d, void* e, int const f[], int const g[],
         MPI_Datatype h, MPI_Comm i),
        (a, b, c, d, e, f, g, h, i), 0, d, i)
WATCHED(Alltoallw,
        (void const* a, int const b[], int const c[], MPI_Datatype const d[], void* e, int const f[],
         int const g[], MPI_Datatype const h[], MPI_Comm i),
        (a, b, c, d, e, f, g, h, i), 0, MPI_DATATYPE_NULL, i)
WATCHED(Bcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e), (a, b, c, d, e), b, c, e)
WATCHED(Barrier, (MPI_Comm a), (a), 0, MPI_DATATYPE_NULL, a)
WATCHED(Gather, (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g, MPI_Comm h),
        (a, b, c, d, e, f, g, h), b, c, h)
WATCHED(Gatherv,
        (void const* a, int b, MPI_Datatype c, void* d, int const e[], int const f[], MPI_Datatype g, int h,
         MPI_Comm i),
        (a, b, c, d, e, f, g, h, i), b, c, i)
WATCHED(Scatter, (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g, MPI_Comm h),
        (a, b, c, d, e, f, g, h), b, c, h)
WATCHED(Scatterv,
        (void const* a, int const b[], int const c[], MPI_Datatype d, void* e, int f, MPI_Datatype g, int h,
         MPI_Comm i),
        (a, b, c, d, e, f, g, h, i), 0, d, i)
WATCHED(Scan, (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f), (a, b, c, d, e, f), c, d,
        f)
WATCHED(Exscan, (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f), (a, b, c, d, e, f), c,
        d, f)
// collectives that do not wait
WATCHED(Iallreduce, (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), c, d, f)
WATCHED(Ireduce, (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, int f, MPI_Comm g, MPI_Request* h),
        (a, b, c, d, e, f, g, h), c, d, g)
WATCHED(Ireduce_scatter,
        (void const* a, void* b, int const c[], MPI_Datatype d, MPI_Op e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), 0, d, f)
WATCHED(Ireduce_scatter_block,
        (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), of_all(c, f), d, f)
WATCHED(Iallgather,
        (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g, MPI_Request* h),
        (a, b, c, d, e, f, g, h), b, c, g)
WATCHED(Iallgatherv,
        (void const* a, int b, MPI_Datatype c, void* d, int const e[], int const f[], MPI_Datatype g,
         MPI_Comm h, MPI_Request* i),
        (a, b, c, d, e, f, g, h, i), b, c, h)
WATCHED(Ialltoall,
        (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g, MPI_Request* h),
        (a, b, c, d, e, f, g, h), of_all(b, g), c, g)
WATCHED(Ialltoallv,
        (void const* a, int const b[], int const c[], MPI_Datatype d, void* e, int const f[], int const g[],
         MPI_Datatype h, MPI_Comm i, MPI_Request* j),
        (a, b, c, d, e, f, g, h, i, j), 0, d, i)
WATCHED(Ialltoallw,
        (void const* a, int const b[], int const c[], MPI_Datatype const d[], void* e, int const f[],
         int const g[], MPI_Datatype const h[], MPI_Comm i, MPI_Request* j),
        (a, b, c, d, e, f, g, h, i, j), 0, MPI_DATATYPE_NULL, i)
WATCHED(Ibcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e, MPI_Request* f), (a, b, c, d, e, f), b, c,
        e)
WATCHED(Ibarrier, (MPI_Comm a, MPI_Request* b), (a, b), 0, MPI_DATATYPE_NULL, a)
WATCHED(Igather,
        (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g, MPI_Comm h,
         MPI_Request* i),
        (a, b, c, d, e, f, g, h, i), b, c, h)
WATCHED(Igatherv,
        (void const* a, int b, MPI_Datatype c, void* d, int const e[], int const f[], MPI_Datatype g, int h,
         MPI_Comm i, MPI_Request* j),
        (a, b, c, d, e, f, g, h, i, j), b, c, i)
WATCHED(Iscatter,
        (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g, MPI_Comm h,
         MPI_Request* i),
        (a, b, c, d, e, f, g, h, i), b, c, h)
WATCHED(Iscatterv,
        (void const* a, int const b[], int const c[], MPI_Datatype d, void* e, int f, MPI_Datatype g, int h,
         MPI_Comm i, MPI_Request* j),
        (a, b, c, d, e, f, g, h, i, j), 0, d, i)
WATCHED(Iscan, (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), c, d, f)
WATCHED(Iexscan, (void const* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), c, d, f)
// of neighbours
WATCHED(Neighbor_allgather,
        (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g),
        (a, b, c, d, e, f, g), b, c, g)
WATCHED(Neighbor_allgatherv,
        (void const* a, int b, MPI_Datatype c, void* d, int const e[], int const f[], MPI_Datatype g,
         MPI_Comm h),
        (a, b, c, d, e, f, g, h), b, c, h)
WATCHED(Neighbor_alltoall, (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g),
        (a, b, c, d, e, f, g), b, c, g)
WATCHED(Neighbor_alltoallv,
        (void const* a, int const b[], int const c[], MPI_Datatype d, void* e, int const f[], int const g[],
         MPI_Datatype h, MPI_Comm i),
        (a, b, c, d, e, f, g, h, i), 0, d, i)
WATCHED(Neighbor_alltoallw,
        (void const* a, int const b[], MPI_Aint const c[], MPI_Datatype const d[], void* e, int const f[],
         MPI_Aint const g[], MPI_Datatype const h[], MPI_Comm i),
        (a, b, c, d, e, f, g, h, i), 0, MPI_DATATYPE_NULL, i)
WATCHED(Ineighbor_allgather,
        (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g, MPI_Request* h),
        (a, b, c, d, e, f, g, h), b, c, g)
WATCHED(Ineighbor_allgatherv,
        (void const* a, int b, MPI_Datatype c, void* d, int const e[], int const f[], MPI_Datatype g,
         MPI_Comm h, MPI_Request* i),
        (a, b, c, d, e, f, g, h, i), b, c, h)
WATCHED(Ineighbor_alltoall,
        (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g, MPI_Request* h),
        (a, b, c, d, e, f, g, h), b, c, g)
WATCHED(Ineighbor_alltoallv,
        (void const* a, int const b[], int const c[], MPI_Datatype d, void* e, int const f[], int const g[],
         MPI_Datatype h, MPI_Comm i, MPI_Request* j),
        (a, b, c, d, e, f, g, h, i, j), 0, d, i)
WATCHED(Ineighbor_alltoallw,
        (void const* a, int const b[], MPI_Aint const c[], MPI_Datatype const d[], void* e, int const f[],
         MPI_Aint const g[], MPI_Datatype const h[], MPI_Comm i, MPI_Request* j),
        (a, b, c, d, e, f, g, h, i, j), 0, MPI_DATATYPE_NULL, i)
// from one process to another
WATCHED(Send, (void const* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f), (a, b, c, d, e, f),
        sent_to(d, b), c, f)
WATCHED(Ssend, (void const* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f), (a, b, c, d, e, f), b, c, f)
WATCHED(Bsend, (void const* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f), (a, b, c, d, e, f), b, c, f)
WATCHED(Rsend, (void const* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f), (a, b, c, d, e, f), b, c, f)
WATCHED(Isend, (void const* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), b, c, f)
WATCHED(Issend, (void const* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), b, c, f)
WATCHED(Ibsend, (void const* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), b, c, f)
WATCHED(Irsend, (void const* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), b, c, f)
WATCHED(Recv, (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Status* g),
        (a, b, c, d, e, f, g), 0, c, f)
WATCHED(Irecv, (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
        (a, b, c, d, e, f, g), 0, c, f)
WATCHED(Mrecv, (void* a, int b, MPI_Datatype c, MPI_Message* d, MPI_Status* e), (a, b, c, d, e), 0,
        MPI_DATATYPE_NULL, MPI_COMM_NULL)
WATCHED(Imrecv, (void* a, int b, MPI_Datatype c, MPI_Message* d, MPI_Request* e), (a, b, c, d, e), 0,
        MPI_DATATYPE_NULL, MPI_COMM_NULL)
WATCHED(Sendrecv,
        (void const* a, int b, MPI_Datatype c, int d, int e, void* f, int g, MPI_Datatype h, int i, int j,
         MPI_Comm k, MPI_Status* l),
        (a, b, c, d, e, f, g, h, i, j, k, l), sent_to(d, b), c, k)
WATCHED(Sendrecv_replace,
        (void* a, int b, MPI_Datatype c, int d, int e, int f, int g, MPI_Comm h, MPI_Status* i),
        (a, b, c, d, e, f, g, h, i), b, c, h)
WATCHED(Start, (MPI_Request * a), (a), 0, MPI_DATATYPE_NULL, MPI_COMM_NULL)
WATCHED(Startall, (int a, MPI_Request b[]), (a, b), 0, MPI_DATATYPE_NULL, MPI_COMM_NULL)
WATCHED(Probe, (int a, int b, MPI_Comm c, MPI_Status* d), (a, b, c, d), 0, MPI_DATATYPE_NULL, c)
WATCHED(Mprobe, (int a, int b, MPI_Comm c, MPI_Message* d, MPI_Status* e), (a, b, c, d, e), 0,
        MPI_DATATYPE_NULL, c)
// into the memory of another
WATCHED(Put, (void const* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Win h),
        (a, b, c, d, e, f, g, h), b, c, MPI_COMM_NULL)
WATCHED(Rput,
        (void const* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Win h,
         MPI_Request* i),
        (a, b, c, d, e, f, g, h, i), b, c, MPI_COMM_NULL)
WATCHED(Get, (void* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Win h),
        (a, b, c, d, e, f, g, h), b, c, MPI_COMM_NULL)
WATCHED(Rget,
        (void* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Win h, MPI_Request* i),
        (a, b, c, d, e, f, g, h, i), b, c, MPI_COMM_NULL)
WATCHED(Accumulate,
        (void const* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Op h, MPI_Win i),
        (a, b, c, d, e, f, g, h, i), b, c, MPI_COMM_NULL)
WATCHED(Raccumulate,
        (void const* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g, MPI_Op h, MPI_Win i,
         MPI_Request* j),
        (a, b, c, d, e, f, g, h, i, j), b, c, MPI_COMM_NULL)
WATCHED(Get_accumulate,
        (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g, MPI_Aint h, int i,
         MPI_Datatype j, MPI_Op k, MPI_Win l),
        (a, b, c, d, e, f, g, h, i, j, k, l), b, c, MPI_COMM_NULL)
WATCHED(Rget_accumulate,
        (void const* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g, MPI_Aint h, int i,
         MPI_Datatype j, MPI_Op k, MPI_Win l, MPI_Request* m),
        (a, b, c, d, e, f, g, h, i, j, k, l, m), b, c, MPI_COMM_NULL)
WATCHED(Fetch_and_op, (void const* a, void* b, MPI_Datatype c, int d, MPI_Aint e, MPI_Op f, MPI_Win g),
        (a, b, c, d, e, f, g), 0, c, MPI_COMM_NULL)
WATCHED(Compare_and_swap,
        (void const* a, void const* b, void* c, MPI_Datatype d, int e, MPI_Aint f, MPI_Win g),
        (a, b, c, d, e, f, g), 0, d, MPI_COMM_NULL)
WATCHED(Win_create, (void* a, MPI_Aint b, int c, MPI_Info d, MPI_Comm e, MPI_Win* f), (a, b, c, d, e, f), 0,
        MPI_DATATYPE_NULL, e)
WATCHED(Win_allocate, (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e, MPI_Win* f), (a, b, c, d, e, f), 0,
        MPI_DATATYPE_NULL, d)
WATCHED(Win_allocate_shared, (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e, MPI_Win* f),
        (a, b, c, d, e, f), 0, MPI_DATATYPE_NULL, d)
WATCHED(Win_create_dynamic, (MPI_Info a, MPI_Comm b, MPI_Win* c), (a, b, c), 0, MPI_DATATYPE_NULL, b)
WATCHED(Win_fence, (int a, MPI_Win b), (a, b), 0, MPI_DATATYPE_NULL, MPI_COMM_NULL)
WATCHED(Win_lock, (int a, int b, int c, MPI_Win d), (a, b, c, d), 0, MPI_DATATYPE_NULL, MPI_COMM_NULL)
WATCHED(Win_lock_all, (int a, MPI_Win b), (a, b), 0, MPI_DATATYPE_NULL, MPI_COMM_NULL)
// that make a communicator
WATCHED(Comm_dup, (MPI_Comm a, MPI_Comm* b), (a, b), 0, MPI_DATATYPE_NULL, a)
WATCHED(Comm_idup, (MPI_Comm a, MPI_Comm* b, MPI_Request* c), (a, b, c), 0, MPI_DATATYPE_NULL, a)
WATCHED(Comm_dup_with_info, (MPI_Comm a, MPI_Info b, MPI_Comm* c), (a, b, c), 0, MPI_DATATYPE_NULL, a)
WATCHED(Comm_split, (MPI_Comm a, int b, int c, MPI_Comm* d), (a, b, c, d), 0, MPI_DATATYPE_NULL, a)
WATCHED(Comm_split_type, (MPI_Comm a, int b, int c, MPI_Info d, MPI_Comm* e), (a, b, c, d, e), 0,
        MPI_DATATYPE_NULL, a)
WATCHED(Comm_create, (MPI_Comm a, MPI_Group b, MPI_Comm* c), (a, b, c), 0, MPI_DATATYPE_NULL, a)
WATCHED(Comm_create_group, (MPI_Comm a, MPI_Group b, int c, MPI_Comm* d), (a, b, c, d), 0, MPI_DATATYPE_NULL,
        a)
WATCHED(Cart_create, (MPI_Comm a, int b, int const c[], int const d[], int e, MPI_Comm* f),
        (a, b, c, d, e, f), 0, MPI_DATATYPE_NULL, a)
WATCHED(Cart_sub, (MPI_Comm a, int const b[], MPI_Comm* c), (a, b, c), 0, MPI_DATATYPE_NULL, a)
WATCHED(Graph_create, (MPI_Comm a, int b, int const c[], int const d[], int e, MPI_Comm* f),
        (a, b, c, d, e, f), 0, MPI_DATATYPE_NULL, a)
WATCHED(Dist_graph_create,
        (MPI_Comm a, int b, int const c[], int const d[], int const e[], int const f[], MPI_Info g, int h,
         MPI_Comm* i),
        (a, b, c, d, e, f, g, h, i), 0, MPI_DATATYPE_NULL, a)
WATCHED(Dist_graph_create_adjacent,
        (MPI_Comm a, int b, int const c[], int const d[], int e, int const f[], int const g[], MPI_Info h,
         int i, MPI_Comm* j),
        (a, b, c, d, e, f, g, h, i, j), 0, MPI_DATATYPE_NULL, a)
WATCHED(Intercomm_create, (MPI_Comm a, int b, MPI_Comm c, int d, int e, MPI_Comm* f), (a, b, c, d, e, f), 0,
        MPI_DATATYPE_NULL, a)
WATCHED(Intercomm_merge, (MPI_Comm a, int b, MPI_Comm* c), (a, b, c), 0, MPI_DATATYPE_NULL, a)

}  // extern "C"
