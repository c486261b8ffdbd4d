// The dispatch table of the subcommands.
#include "tools/cli/command.h"

namespace fatctx::tools {

const std::vector<CommandHook>& command_hooks() {
  // One command a line.
  // clang-format off
  static const std::vector<CommandHook> hooks = {
      {"pack", add_pack},
      {"append", add_append},
      {"note", add_note},
      {"remove", add_remove},
      {"strip", add_strip},
      {"compact", add_compact},
      {"seal", add_seal},
      {"merge", add_merge},
      {"compile", add_compile},
      {"ctx-gen", add_ctx_gen},
      {"info", add_info},
      {"ls", add_ls},
      {"select", add_select},
      {"device", add_device},
      {"socs", add_socs},
      {"verify", add_verify},
      {"repair", add_repair},
      {"fetch", add_fetch},
      {"push", add_push},
      {"delta", add_delta},
      {"apply", add_apply},
      {"index", add_index},
      {"diff", add_diff},
      {"report", add_report},
      {"extract", add_extract},
      {"materialize", add_materialize},
      {"cache", add_cache},
      {"bench", add_bench},
      {"dlc", add_dlc},
      {"export", add_export},
      {"wrap", add_wrap},
      {"sign", add_sign},
      {"keygen", add_keygen},
      {"schema", add_schema},
      {"help", add_help},
      {"version", add_version},
  };
  // clang-format on
  return hooks;
}

}  // namespace fatctx::tools
