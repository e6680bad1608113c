// Prints the table of docs/from_pytorch_and_jax.md that says how the arrays of layers are called, here and in
// PyTorch: layer_names.py puts it there.
//
// What is here comes from the layers. What is there is written by hand, here and nowhere else; the program
// ends with status 1 if a layer has another array, or if the dimensions are not those of the array.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <meshtf/io/print_names.hpp>
#include <meshtf/planning.hpp>

namespace {

using namespace meshtf;

// clang-format off
struct model  : dim<8>  {};
struct in     : dim<8>  {};
struct out    : dim<12> {};
struct hidden : dim<16> {};
struct vocab  : dim<24> {};
struct often  : dim<8>  {};
struct seldom : dim<16> {};
struct inner  : dim<4>  {};
struct length : dim<10> {};
struct memory : dim<10> {};
struct apart  : dim<19> {};
struct bucket : dim<6>  {};
struct heads  : dim<2>  {};
struct groups : dim<2>  {};
struct each   : dim<2>  {};
struct key    : dim<4>  {};
struct member : dim<6>  {};
struct height : dim<9>  {};
struct width  : dim<9>  {};
struct k_h    : dim<3>  {};
struct k_w    : dim<5>  {};

struct one   : axis<1>      {};
struct lone  : mesh<one>    {};
struct rules : layout<lone> {};
using L = dry<rules>;   // names and shapes need no elements

struct gpt2 : nn::transformer_dims<length, vocab, model, heads, key, hidden> {
  static constexpr int layers = 1;
};
struct llama : nn::llama_dims<length, vocab, model, groups, each, key, hidden> {
  static constexpr int layers = 1;
};
// clang-format on

/// The array `name` here is `source` in PyTorch, of the dimensions `dims` there; those in parentheses are one
/// dimension there.
struct there {
  std::string name;
  std::string source;
  std::string dims;
};

int wrong = 0;

void complain(std::string const& layer, std::string const& what) {
  std::fprintf(stderr, "%s: %s\n", layer.c_str(), what.c_str());
  wrong = 1;
}

template<class T, class... D>
std::vector<std::string> dims_of(tensor<T, L, D...> const&) {
  return {std::string{name_of<D>()}...};
}

/// The Python expression that makes an array with the dimensions `here` of one in PyTorch; empty if there is
/// none.
std::string conversion(there const& array, std::vector<std::string> const& here) {
  std::string text = array.source;
  std::vector<std::string> flat;
  std::vector<std::pair<std::size_t, std::string>> merged;  // where, and which
  std::string word;
  std::string group;
  std::size_t place = 0;
  bool inside       = false;
  for (char const c : array.dims + " ") {
    if (c == '(') {
      inside = true;
    } else if (c == ' ' || c == ')') {
      if (!word.empty()) {
        flat.push_back(word);
        group += (group.empty() ? "" : ", ") + word;
      }
      if (inside && c == ')') {
        merged.emplace_back(place, group);
        inside = false;
      }
      if (!inside && !group.empty()) {
        ++place;
        group.clear();
      }
      word.clear();
    } else {
      word += c;
    }
  }
  std::reverse(merged.begin(), merged.end());  // the places of those before it stay
  for (auto const& [at, dims] : merged) text += ".unflatten(" + std::to_string(at) + ", (" + dims + "))";
  if (flat == here) return text;
  if (flat.size() != here.size() || !std::is_permutation(flat.begin(), flat.end(), here.begin())) return "";
  if (flat.size() == 2) return text + ".T";
  std::string order;
  for (auto const& name : here)
    order += (order.empty() ? "" : ", ") +
             std::to_string(std::find(flat.begin(), flat.end(), name) - flat.begin());
  return text + ".permute(" + order + ")";
}

/// The rows of a layer. Without a list, PyTorch has no such layer.
template<class Layer>
void rows(std::string const& title, std::string const& counterpart, Layer layer,
          std::vector<there> list = {}) {
  std::printf("| **`%s`** | | %s |\n", title.c_str(), counterpart.c_str());
  bool const known = !list.empty();
  parameters(layer).for_each_named([&](std::string const& name, auto const& w) {
    std::vector<std::string> const dims = dims_of(w);
    std::string shape;
    std::string made;
    for (auto const& d : dims) shape += (shape.empty() ? "" : ", ") + d;
    auto const found = std::find_if(list.begin(), list.end(), [&](there const& t) { return t.name == name; });
    if (found != list.end()) {
      made = conversion(*found, dims);
      if (made.empty())
        complain(title, "expected '" + name + "' to have the dimensions " + shape + ", got " + found->dims);
      made = "`" + made + "`";
      list.erase(found);
    } else if (known) {
      complain(title, "expected a line about '" + name + "', got none");
    }
    std::printf("| `%s` | `%s` | %s |\n", name.c_str(), shape.c_str(), made.c_str());
  });
  for (auto const& [name, source, dims] : list) complain(title, "expected an array '" + name + "', got none");
}

void add_norm(std::vector<there>& list, std::string const& name, std::string const& source) {
  list.push_back({name + ".scale", source + ".weight", "model"});
  list.push_back({name + ".bias", source + ".bias", "model"});
}

void add_attention(std::vector<there>& list, std::string const& name, std::string const& source) {
  for (int i = 0; i < 3; ++i) {
    std::string const part = std::array{".query", ".key", ".value"}[static_cast<std::size_t>(i)];
    std::string const cut  = ".chunk(3)[" + std::to_string(i) + "]";
    list.push_back({name + part + ".weight", source + ".in_proj_weight" + cut, "(heads key) model"});
    list.push_back({name + part + ".bias", source + ".in_proj_bias" + cut, "(heads key)"});
  }
  list.push_back({name + ".output.weight", source + ".out_proj.weight", "model (heads key)"});
  list.push_back({name + ".output.bias", source + ".out_proj.bias", "model"});
}

void add_feed_forward(std::vector<there>& list, std::string const& name, std::string const& source) {
  list.push_back({name + ".up.weight", source + ".linear1.weight", "hidden model"});
  list.push_back({name + ".up.bias", source + ".linear1.bias", "hidden"});
  list.push_back({name + ".down.weight", source + ".linear2.weight", "model hidden"});
  list.push_back({name + ".down.bias", source + ".linear2.bias", "model"});
}

/// The arrays of `nn.TransformerEncoder`, of one layer.
std::vector<there> encoder_there() {
  std::vector<there> list;
  add_norm(list, "blocks.0.norm1", "layers.0.norm1");
  add_attention(list, "blocks.0.attention", "layers.0.self_attn");
  add_norm(list, "blocks.0.norm2", "layers.0.norm2");
  add_feed_forward(list, "blocks.0.feed_forward", "layers.0");
  add_norm(list, "norm", "norm");
  return list;
}

/// Those of `nn.TransformerDecoder`.
std::vector<there> decoder_there() {
  std::vector<there> list = encoder_there();
  add_attention(list, "blocks.0.cross", "layers.0.multihead_attn");
  add_norm(list, "blocks.0.norm3", "layers.0.norm3");
  return list;
}

}  // namespace

int main() {
  ledger<lone> m;
  nn::streams seeds{1};
  normal const some{1};
  using height_window = window<height, k_h>;
  using width_window  = window<width, k_w>;
  rows("nn::linear<T, L, in, out>", "`nn.Linear`", nn::linear<float, L, in, out>{m, some},
       {{"weight", "weight", "out in"}, {"bias", "bias", "out"}});
  rows("nn::projection<T, L, in, out>", "`nn.Linear`, `bias=False`",
       nn::projection<float, L, in, out>{m, some}, {{"weight", "weight", "out in"}});
  rows("nn::embedding<T, L, vocab, model>", "`nn.Embedding`", nn::embedding<float, L, vocab, model>{m, some},
       {{"0", "weight", "vocab model"}});
  rows("nn::factorised_embedding<T, L, vocab, inner, model>",
       "`nn.Sequential(nn.Embedding, nn.Linear)`, `bias=False`",
       nn::factorised_embedding<float, L, vocab, inner, model>{m, some, some},
       {{"table", "0.weight", "vocab inner"}, {"up.weight", "1.weight", "model inner"}});
  rows("nn::adaptive_embedding<T, L, vocab, model, cluster<often, model>, cluster<seldom, inner>>", "",
       nn::adaptive_embedding<float, L, vocab, model, nn::cluster<often, model>, nn::cluster<seldom, inner>>{
           m, seeds, 0.1});
  rows("nn::layer_norm<T, L, model>", "`nn.LayerNorm`", nn::layer_norm<float, L, model>{m},
       {{"scale", "weight", "model"}, {"bias", "bias", "model"}});
  rows("nn::rms_norm<T, L, model>", "`nn.RMSNorm`", nn::rms_norm<float, L, model>{m},
       {{"scale", "weight", "model"}});
  rows("nn::batch_norm<T, L, out>", "`nn.BatchNorm2d`; leave out `num_batches_tracked`",
       nn::batch_norm<float, L, out>{m},
       {{"scale", "weight", "out"},
        {"bias", "bias", "out"},
        {"running_mean", "running_mean", "out"},
        {"running_variance", "running_var", "out"}});
  rows("nn::group_norm<T, L, shape<groups, member>, height, width, member>", "`nn.GroupNorm`",
       nn::group_norm<float, L, shape<groups, member>, height, width, member>{m},
       {{"scale", "weight", "(groups member)"}, {"bias", "bias", "(groups member)"}});
  rows("nn::conv<T, L, in, out, window<height, k_h>, window<width, k_w>>", "`nn.Conv2d`",
       nn::conv<float, L, in, out, height_window, width_window>{m, some},
       {{"filter", "weight", "out in k_h k_w"}, {"bias", "bias", "out"}});
  rows("nn::conv<T, L, shape<groups, in>, member, window<height, k_h>>", "`nn.Conv1d`, in groups",
       nn::conv<float, L, shape<groups, in>, member, height_window>{m, some},
       {{"filter", "weight", "(groups member) in k_h"}, {"bias", "bias", "(groups member)"}});
  rows(
      "nn::conv_block<T, L, in, out, nn::batch_norm<T, L, out>, nn::rectified, window<height, k_h>, "
      "window<width, k_w>>",
      "`nn.Sequential(nn.Conv2d, nn.BatchNorm2d, nn.ReLU)`, `bias=False`",
      nn::conv_block<float, L, in, out, nn::batch_norm<float, L, out>, nn::rectified, height_window,
                     width_window>{m, some},
      {{"filter", "0.weight", "out in k_h k_w"},
       {"norm.scale", "1.weight", "out"},
       {"norm.bias", "1.bias", "out"},
       {"norm.running_mean", "1.running_mean", "out"},
       {"norm.running_variance", "1.running_var", "out"}});
  rows("nn::feed_forward<T, L, model, hidden>", "`nn.Sequential(nn.Linear, nn.GELU, nn.Linear)`",
       nn::feed_forward<float, L, model, hidden>{m, seeds, 0.1, 0.1},
       {{"up.weight", "0.weight", "hidden model"},
        {"up.bias", "0.bias", "hidden"},
        {"down.weight", "2.weight", "model hidden"},
        {"down.bias", "2.bias", "model"}});
  rows("nn::gated_feed_forward<T, L, model, hidden>", "`LlamaMLP` of transformers",
       nn::gated_feed_forward<float, L, model, hidden>{m, seeds, 0.1, 0.1},
       {{"gate.weight", "gate_proj.weight", "hidden model"},
        {"up.weight", "up_proj.weight", "hidden model"},
        {"down.weight", "down_proj.weight", "model hidden"}});
  rows("nn::self_attention<T, L, length, model, heads, key>", "`nn.MultiheadAttention`",
       nn::self_attention<float, L, length, model, heads, key>{m, seeds, 0.1, 0.1},
       {{"query.weight", "in_proj_weight.chunk(3)[0]", "(heads key) model"},
        {"query.bias", "in_proj_bias.chunk(3)[0]", "(heads key)"},
        {"key.weight", "in_proj_weight.chunk(3)[1]", "(heads key) model"},
        {"key.bias", "in_proj_bias.chunk(3)[1]", "(heads key)"},
        {"value.weight", "in_proj_weight.chunk(3)[2]", "(heads key) model"},
        {"value.bias", "in_proj_bias.chunk(3)[2]", "(heads key)"},
        {"output.weight", "out_proj.weight", "model (heads key)"},
        {"output.bias", "out_proj.bias", "model"}});
  rows("nn::grouped_attention<T, L, length, model, groups, each, key>", "`LlamaAttention` of transformers",
       nn::grouped_attention<float, L, length, model, groups, each, key>{m, seeds, 0.1, 0.1},
       {{"query.weight", "q_proj.weight", "(groups each key) model"},
        {"key.weight", "k_proj.weight", "(groups key) model"},
        {"value.weight", "v_proj.weight", "(groups key) model"},
        {"output.weight", "o_proj.weight", "model (groups each key)"}});
  rows("nn::relative_bias<T, L, bucket, heads, memory, apart>", "`T5Attention` of transformers",
       nn::relative_bias<float, L, bucket, heads, memory, apart>{m, some},
       {{"0", "relative_attention_bias.weight", "bucket heads"}});
  rows("nn::contextual_bias<T, L, heads, key, bucket, length, memory>", "",
       nn::contextual_bias<float, L, heads, key, bucket, length, memory>{m, some});
  rows("nn::transformer<T, L, gpt2>",
       "`GPT2LMHeadModel` of transformers, whose names begin with `transformer.`",
       nn::transformer<float, L, gpt2>{m, 1},
       {{"tokens", "wte.weight", "vocab model"},
        {"positions", "wpe.weight", "length model"},
        {"blocks.0.norm1.scale", "h.0.ln_1.weight", "model"},
        {"blocks.0.norm1.bias", "h.0.ln_1.bias", "model"},
        {"blocks.0.attention.query.weight", "h.0.attn.c_attn.weight.chunk(3, 1)[0]", "model (heads key)"},
        {"blocks.0.attention.query.bias", "h.0.attn.c_attn.bias.chunk(3)[0]", "(heads key)"},
        {"blocks.0.attention.key.weight", "h.0.attn.c_attn.weight.chunk(3, 1)[1]", "model (heads key)"},
        {"blocks.0.attention.key.bias", "h.0.attn.c_attn.bias.chunk(3)[1]", "(heads key)"},
        {"blocks.0.attention.value.weight", "h.0.attn.c_attn.weight.chunk(3, 1)[2]", "model (heads key)"},
        {"blocks.0.attention.value.bias", "h.0.attn.c_attn.bias.chunk(3)[2]", "(heads key)"},
        {"blocks.0.attention.output.weight", "h.0.attn.c_proj.weight", "(heads key) model"},
        {"blocks.0.attention.output.bias", "h.0.attn.c_proj.bias", "model"},
        {"blocks.0.norm2.scale", "h.0.ln_2.weight", "model"},
        {"blocks.0.norm2.bias", "h.0.ln_2.bias", "model"},
        {"blocks.0.feed_forward.up.weight", "h.0.mlp.c_fc.weight", "model hidden"},
        {"blocks.0.feed_forward.up.bias", "h.0.mlp.c_fc.bias", "hidden"},
        {"blocks.0.feed_forward.down.weight", "h.0.mlp.c_proj.weight", "hidden model"},
        {"blocks.0.feed_forward.down.bias", "h.0.mlp.c_proj.bias", "model"},
        {"norm.scale", "ln_f.weight", "model"},
        {"norm.bias", "ln_f.bias", "model"}});
  rows("nn::llama<T, L, llama>", "`LlamaForCausalLM` of transformers", nn::llama<float, L, llama>{m, 1},
       {{"tokens", "model.embed_tokens.weight", "vocab model"},
        {"blocks.0.norm1.scale", "model.layers.0.input_layernorm.weight", "model"},
        {"blocks.0.attention.query.weight", "model.layers.0.self_attn.q_proj.weight",
         "(groups each key) model"},
        {"blocks.0.attention.key.weight", "model.layers.0.self_attn.k_proj.weight", "(groups key) model"},
        {"blocks.0.attention.value.weight", "model.layers.0.self_attn.v_proj.weight", "(groups key) model"},
        {"blocks.0.attention.output.weight", "model.layers.0.self_attn.o_proj.weight",
         "model (groups each key)"},
        {"blocks.0.norm2.scale", "model.layers.0.post_attention_layernorm.weight", "model"},
        {"blocks.0.feed_forward.gate.weight", "model.layers.0.mlp.gate_proj.weight", "hidden model"},
        {"blocks.0.feed_forward.up.weight", "model.layers.0.mlp.up_proj.weight", "hidden model"},
        {"blocks.0.feed_forward.down.weight", "model.layers.0.mlp.down_proj.weight", "model hidden"},
        {"norm.scale", "model.norm.weight", "model"},
        {"output.weight", "lm_head.weight", "vocab model"}});
  rows("nn::encoder<T, L, 1, length, model, heads, key, hidden>",
       "`nn.TransformerEncoder` with a last norm, of layers with `norm_first=True`",
       nn::encoder<float, L, 1, length, model, heads, key, hidden>{m, seeds, 0.1}, encoder_there());
  rows("nn::decoder<T, L, 1, length, memory, model, heads, key, hidden>",
       "`nn.TransformerDecoder` with a last norm, of layers with `norm_first=True`",
       nn::decoder<float, L, 1, length, memory, model, heads, key, hidden>{m, seeds, 0.1}, decoder_there());
  return wrong;
}
