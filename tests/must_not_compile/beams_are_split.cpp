// error: beams_are_split<beam,
// error: meshtf: beam_search keeps the beams of a sequence on one process
#include <meshtf/nn/beam_search.hpp>
#include <meshtf/planning.hpp>

using namespace meshtf;

struct batch : dim<4> {};
struct source : dim<6> {};
struct target : dim<5> {};
struct vocab : dim<8> {};
struct model : dim<8> {};
struct heads : dim<2> {};
struct key : dim<4> {};
struct hidden : dim<8> {};
struct beam : dim<4> {};
struct rows : axis<2> {};
struct line : mesh<rows> {};
#ifdef FIXED
struct how : layout<line, split<batch, rows>> {};
#else
struct how : layout<line, split<beam, rows>> {};
#endif

struct dims : nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {};
using ids        = tensor<int, dry<how>, batch, source>;
using translator = nn::seq2seq<float, dry<how>, dims>;

auto translated(translator const& net, nn::source_rows<ids, ids> const& text) {
  return nn::beam_search<beam>(net, text, 1);
}
