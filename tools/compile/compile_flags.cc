#include "tools/compile/compile_flags.h"

#include <string>

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace fatctx::tools {

namespace {

// Refuses the value of an unset variable of a script; otherwise the command would choose something else to
// do.
std::string refuse_empty(const std::string& value) { return value.empty() ? "the value is empty" : std::string(); }

void add_target_flags(CLI::App& command, CompileFlags& flags) {
  command.add_option("--targets", flags.targets_file, "IREE: what to compile for, as JSON with comments")
      ->type_name("FILE");
  command.add_option("--target", flags.target_words, "IREE or --command: one more target: ARCH[+FEATURE...]")
      ->type_name("TARGET")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--shape", flags.shapes, "Fix open sizes: x=1,3,320,320; several are compiled each by itself")
      ->type_name("LIST")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--config-file", flags.config_file,
                  "Snapdragon: the vendor's main file, which names one for each SoC")
      ->type_name("FILE");
  command.add_option("--htp-socs", flags.htp_socs, "Snapdragon: SoCs in any spelling: SM8650,69")->type_name("LIST");
  command.add_option("--vtcm-mb", flags.vtcm_mb, "With --htp_socs: VTCM in MB, for all or for each")
      ->delimiter(',')
      ->allow_extra_args(false)  // otherwise it takes MODEL for a number
      ->type_name("LIST")
      ->check(whole_number());
  command.add_option("--soc-table", flags.soc_table, "A table of SoCs; default FATCTX_SOC_TABLE, or the built-in one")
      ->type_name("FILE");
  command
      .add_option("--reference-weight-sharing-enabled-override", flags.sharing_override,
                  "Wins over what the files of the SoCs say: true or false")
      ->check(CLI::IsMember({"true", "false"}))
      ->type_name("BOOL");
  command.add_option("--sharing", flags.sharing, "How records share bytes: pages, bytes or off; else as the files say")
      ->check(CLI::IsMember({"pages", "bytes", "off"}))
      ->type_name("HOW");
  command.add_option("--common-arch", flags.common_arch, "Snapdragon: the arch that the model was quantised for: v73")
      ->type_name("ARCH");
}

void add_compiler_flags(CLI::App& command, CompileFlags& flags) {
  command
      .add_option("--command", flags.command, "Any other compiler: a command line with {model}, {output}, {arch}, ...")
      ->type_name("COMMAND");
  command.add_option("--format", flags.format, "With --command: form of what it writes")->type_name("WORD");
  command.add_option("-j,--jobs", flags.jobs, "Targets compiled at a time; else one for each core")
      ->type_name("N")
      ->check(whole_number());
  command.add_option("--iree-bin", flags.iree_bin, "Where iree-compile is; else the Python environment, or PATH")
      ->type_name("DIR");
  command
      .add_option("--qnn-python", flags.qnn_python,
                  "The Python with onnxruntime-qnn; else FATCTX_QNN_PYTHON or python3")
      ->type_name("PROGRAM");
  command.add_flag("--allow-cpu", flags.allow_cpu, "Snapdragon: operators that the NPU lacks stay on the CPU");
  command.add_option("--cache", flags.cache, "Where results are kept; else in ~/.cache; or --no-cache")
      ->type_name("DIR");
  command.add_flag("--check", flags.check, "Compare IREE with ONNX Runtime, the default to 64 MiB; or --no-check");
  // The line above tells of it.
  command.add_flag("--no-check", flags.no_check, "Do not compare with ONNX Runtime")->group("");
  // The line of --cache tells of it.
  command.add_flag("--no-cache", flags.no_cache, "Compile anew and keep nothing")->group("");
}

// docs/cli/compile.md has a table of what each flag maps to.
void add_vendor_flags(CLI::App& command, VendorLine& line) {
  command.add_option("--backend", line.backend, "The vendor's generator: libQnnHtp.so")->type_name("LIB");
  command.add_option("--model", line.model, "The vendor's generator: libQnnModelDlc.so or ONNX model; or --dlc-path")
      ->type_name("LIB");
  command.add_option("--output-dlc", line.output_dlc, "The vendor's generator: the multi-SoC DLC; or --output-dir")
      ->type_name("DLC");
  // The lines above tell of these.
  command.add_option("--dlc-path", line.dlc_path, "The vendor's generator: what a converter wrote")
      ->type_name("DLC")
      ->group("");
  command.add_option("--output-dir", line.output_dir, "The vendor's generator: a folder")->type_name("DIR")->group("");
  command.add_option("--log-level", line.log_level, "error, warn, info, debug or verbose")->type_name("WORD");
}

}  // namespace

void add_compile_flags(CLI::App& command, CompileFlags& flags) {
  command.add_option("MODEL", flags.model, "The ONNX model");
  command.add_option("-o,--output", flags.output, "OUT.fatctx, OUT.dlc, or a folder with / at the end for the parts")
      ->type_name("OUT");
  command.add_option("--plan", flags.plan_file, "Compile nothing; write the targets as jobs for many machines")
      ->type_name("FILE");
  command.add_option("--job", flags.job, "Do job N of a plan, and write its part: jobs.json#0")->type_name("FILE#N");
  command.add_option("--name", flags.name, "Name of the model; else that of the file")->type_name("NAME");
  add_target_flags(command, flags);
  add_compiler_flags(command, flags);
  add_vendor_flags(command, flags.vendor);
  for (CLI::Option* const option :
       command.get_options([](const CLI::Option* o) { return o->get_expected_max() > 0; })) {
    option->check(refuse_empty, "");
  }
  command.add_flag("--keep-source", flags.keep_source, "Keep the model itself in the container");
  command.add_flag("--seal", flags.seal, "Write a sealed file (read-only, cannot be appended to)");
  command.add_flag("--force", flags.force, "Replace OUT if it exists");
  command.add_flag("--json", flags.json, "Print the summary as JSON");
}

}  // namespace fatctx::tools
