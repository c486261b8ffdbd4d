// Packers, and the tensors of weight files that records are made from.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

// Lifetime: the pointers in it are valid until the next call.
fatctx_pack_record Program::record_of_words() {
  fatctx_pack_record whole = {};
  fatctx_pack_record_init(&whole, sizeof whole);
  static const std::uint64_t shape[256] = {2, 3, 1, 1, 0, 7, 1, 1};  // as long as the largest rank
  static const std::int64_t port_shape[] = {1, -1};
  static const fatctx_graph_tensor ports[] = {{"in", "float32", port_shape, 2}, {nullptr, nullptr, nullptr, 1}};
  static const fatctx_option options[] = {{"level", "3", nullptr}, {nullptr, "x", nullptr}};
  static const char* const weights[] = {"w", nullptr};
  const std::uint8_t choice = input_.byte();
  parts_.tensors[0] = {"t", shape, 2, 0, 6, FATCTX_DTYPE_I8, 0};
  parts_.tensors[1] = {"u", shape, input_.byte(), input_.byte(), 6, input_.byte(), 1};
  parts_.ranges[0] = {"front", 0, 2};
  parts_.ranges[1] = {"rest", 2, 4U + (choice >> 7)};
  parts_.graphs[0] = {"main", ports, 1U + (choice >> 4 & 1U), nullptr, choice >> 5 & 1U};
  whole.type = input_.byte() % 9;
  whole.name = word();
  whole.bytes = null() ? nullptr : "weight";
  whole.size = 6;
  whole.arch = word();
  whole.group = word();
  whole.features = word();
  if ((choice & 1) != 0) whole.backend = "cpu";
  if ((choice & 2) != 0) {
    whole.tensors = null() ? nullptr : parts_.tensors;
    whole.tensor_count = 1U + (choice >> 6 & 1U);
    whole.tensors_from_irpa = choice >> 7;
  }
  if ((choice & 4) != 0) {
    whole.graphs = null() ? nullptr : parts_.graphs;
    whole.graph_count = 1;
    whole.options = options;
    whole.option_count = 1U + (choice >> 4 & 1U);
  }
  if ((choice & 8) != 0) {
    whole.weights = weights;
    whole.weight_count = 1U + (choice >> 4 & 1U);
  }
  if ((choice & 16) != 0) {
    whole.ranges = null() ? nullptr : parts_.ranges;
    whole.range_count = 1U + (choice >> 6 & 1U);
  }
  if ((choice & 32) != 0) whole.source_path = path();
  if ((choice & 64) != 0) {
    const std::uint8_t more = input_.byte();
    whole.codec = more & 3U;
    whole.own_extent = more >> 2 & 1U;
    whole.source_is_part = more >> 3 & 1U;
    whole.tensors_from_safetensors = more >> 4 & 1U;
    whole.tensors_from_gguf = more >> 5 & 1U;
    if ((more & 64) != 0) whole.tensor_count = 0;
    whole.source_offset = std::uint64_t{input_.byte()} * 16;
    whole.source_size = std::uint64_t{input_.byte()} * 16;
  }
  return whole;
}

void Program::add_record() {
  const std::uint8_t size = input_.byte();
  const fatctx_pack_record whole = record_of_words();
  Sized<fatctx_pack_record> record(size, whole);
  const fatctx_packer packer = {handle(kPacker)};
  (void)checked(fatctx_packer_add(packer, out(*record.get()), &error_));
}

void Program::use_packers(std::uint8_t which) {
  fatctx_packer packer = {kNotWritten};
  switch (which % 10) {
    case 0: {
      const std::uint8_t choice = input_.byte();
      fatctx_pack_options options = {};
      fatctx_pack_options_init(&options, sizeof options);
      options.overwrite = 1;
      options.seal = choice & 1U;
      options.sharing = choice >= 250 ? choice - 249U : 0U;
      options.granule_log2 = 12U + (choice >> 1 & 3U);
      options.model_name = word();
      options.threads = 1;
      if ((choice & 8) != 0) {
        const std::uint8_t more = input_.byte();
        options.extent_log2 = (more & 1) != 0 ? more : 16;
        options.max_pieces = more;
        options.sharing = more >> 4;
      }
      options.progress = null() ? nullptr : &progress;
      options.progress_user = work(choice);
      return made(fatctx_packer_create(out(options), out(packer), &error_), kPacker, packer);
    }
    case 1: {
      Sized<fatctx_pack_report> report(input_.byte());
      const fatctx_packer of = {handle(kPacker)};
      (void)checked(fatctx_packer_publish(of, out_path(), out(*report.get()), &error_));
      return;
    }
    case 2:
    case 8: {
      const fatctx_packer of = {handle(kPacker)};
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_packer_report_json(of, buffer, capacity, size, &error_);
      });
    }
    case 5:
    case 6:
    case 7: {
      const char* const file = path();
      const std::uint32_t format = which % 10 - 4U + (input_.byte() == 255 ? 1U : 0U);
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_tensors_json(file, format, buffer, capacity, size, &error_);
      });
    }
    default:
      return add_record();
  }
}

}  // namespace fatctx::fuzz
