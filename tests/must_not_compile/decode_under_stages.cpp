// error: decoding_needs_all_blocks<stages>
// error: decodes step by step under layouts without stages
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
struct stages : axis<2> {};
struct line : mesh<stages> {};
#ifdef FIXED
struct how : layout<line, split<heads, stages>> {};
#else
struct how : layout<line, staged<stages>> {};
#endif

struct dims : nn::seq2seq_dims<source, target, vocab, model, heads, key, hidden> {};
using ids        = tensor<int, dry<how>, batch, source>;
using translator = nn::seq2seq<float, dry<how>, dims>;

auto translated(translator const& net, nn::source_rows<ids, ids> const& text) { return net.greedy(text, 1); }
