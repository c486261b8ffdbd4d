// Containers: every way to open one, the properties of it and its records, their bytes, and sharing.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {
namespace {

constexpr std::uint64_t kMostRead = std::uint64_t{1} << 20;

}  // namespace

void Program::make_containers(std::uint8_t which) {
  fatctx_container container = {kNotWritten};
  fatctx_view view = {kNotWritten, nullptr, 0};
  const support::Bytes& bytes = files().memory[0];
  // Usually the whole file is opened, so that there is something to use.
  const std::uint8_t cut = which % 8 == 1 ? input_.byte() : 0;
  const std::uint64_t size = bytes.size() - std::uint64_t{cut} * (bytes.size() / 256);
  switch (which % 8) {
    case 0:
    case 1: {
      const fatctx_open_options* const options = open_options();
      const void* const memory = null() ? nullptr : bytes.data();
      Callee& owner = callee(0);
      const fatctx_release release = release_of(owner);
      const std::int32_t code =
          fatctx_container_open_memory(memory, size, options, release, &owner, out(container), &error_);
      taken(owner, code);
      return made(code, kContainer, container);
    }
    case 2: {
      const char* const file = path();
      const fatctx_open_options* const options = open_options();
      return made(fatctx_container_open(file, options, out(container), &error_), kContainer, container);
    }
    case 3: {
      const fatctx_container from = {handle(kContainer)};
      return made(fatctx_container_reopen(from, out(container), &error_), kContainer, container);
    }
    case 4: {
      const char* const file = path();
      const fatctx_model_options* const options = model_options();
      const char* const unit = word();
      return made_view(fatctx_view_open(file, options, unit, out(view), &error_), view);
    }
    case 5: {
      const fatctx_model_options* const options = model_options();
      const char* const unit = word();
      Callee& owner = callee(0);
      const fatctx_release release = release_of(owner);
      const std::int32_t code =
          fatctx_view_open_memory(bytes.data(), size, options, unit, release, &owner, out(view), &error_);
      taken(owner, code);
      return made_view(code, view);
    }
    default:
      return open_other_containers(which);
  }
}

void Program::open_other_containers(std::uint8_t which) {
  fatctx_container container = {kNotWritten};
  const std::uint8_t choice = input_.byte();
  if (which % 8 == 6) {
    const support::Bytes& bytes = files().memory[choice % files().memory.size()];
    const fatctx_open_options* const options = open_options();
    return made(
        fatctx_container_open_memory(bytes.data(), bytes.size(), options, nullptr, nullptr, out(container), &error_),
        kContainer, container);
  }
  // The offset is that of the model in the asset, another one, or one beyond any end.
  static const std::uint64_t kSizes[] = {0, files().memory[0].size(), 4096, ~std::uint64_t{0}};
  const std::uint8_t place = input_.byte();
  const std::uint64_t offset =
      place < 250 ? std::uint64_t{place} * 4096 : ~std::uint64_t{0} - std::uint64_t{4096} * (255U - place);
  const fatctx_open_options* const options = open_options();
  const int descriptor = files().descriptors[choice % std::size(files().descriptors)];
  made(fatctx_container_open_descriptor(descriptor, offset, kSizes[choice / 8 % std::size(kSizes)], options,
                                        out(container), &error_),
       kContainer, container);
}

void Program::use_containers(std::uint8_t which) {
  const fatctx_container container = {handle(kContainer)};
  fatctx_view view = {kNotWritten, nullptr, 0};
  fatctx_tensor_table table = {kNotWritten};
  fatctx_report report = {kNotWritten};
  switch (which % 20) {
    case 0:
    case 1: {
      Sized<fatctx_open_report> opened(input_.byte());
      if (!ok(fatctx_container_report(container, out(*opened.get()), &error_)) || !opened.whole()) return;
      const fatctx_open_report& said = *opened.get();
      borrowed(said.path);
      borrowed(said.copy_reason);
      borrowed(said.copied_records_reason);
      for (std::uint32_t i = 0; i < said.degraded_count; ++i) borrowed(said.degraded[i]);
      for (std::uint32_t i = 0; i < said.earlier_generations; ++i) {
        require(said.earlier[i].number < said.generation, "an earlier generation is an earlier one");
      }
      return;
    }
    case 6: {
      if (!affordable()) return;
      const std::uint32_t choice = input_.byte();
      fatctx_info_parts parts = {};
      parts.struct_size = sizeof parts;
      parts.graphs = choice & 1;
      parts.options = choice & 2;
      parts.tensors_of = choice / 4 % 9;
      parts.sharing = choice & 1;
      parts.extents = choice & 2;
      parts.present = choice & 1;
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_container_info_json(container, &parts, buffer, capacity, size, &error_);
      });
    }
    case 7:
      return made_view(fatctx_container_acquire(container, input_.byte() % 9, out(view), &error_), view);
    case 8: {
      const char* const name = word();
      return made_view(fatctx_container_acquire_name(container, name, out(view), &error_), view);
    }
    case 9:
      return made(fatctx_container_tensors(container, input_.byte() % 9, out(table), &error_), kTable, table);
    case 14: {
      const fatctx_model_options* const options = model_options();
      const std::uint8_t format = input_.byte() % 3;
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_container_explain(container, options, format, buffer, capacity, size, &error_);
      });
    }
    case 18: {
      const char* const name = word();
      return made_view(fatctx_container_tensor(container, input_.byte() % 9, name, out(view), &error_), view);
    }
    case 15:
      (void)checked(fatctx_container_check(container, &error_));
      return;
    case 19: {
      if (!affordable()) return;
      Work* const watched = work(input_.byte());
      return made(fatctx_container_sharing(container, null() ? nullptr : &progress, watched, out(report), &error_),
                  kReport, report);
    }
    default:
      break;
  }
  if (which % 20 >= 10 && which % 20 < 14) return read_records(container, which % 20);
  look_at_records(container, which % 20);
}

void Program::look_at_records(fatctx_container container, std::uint8_t which) {
  std::uint64_t number = 0;
  switch (which) {
    case 2:
      (void)checked(fatctx_container_record_count(container, out(number), &error_));
      return;
    case 3:
    case 4: {
      Sized<fatctx_record_info> record(input_.byte());
      const std::uint8_t at = input_.byte();
      fatctx_record_info* const info = out(*record.get());
      const std::int32_t code = which == 3 ? fatctx_container_record_at(container, at, info, &error_)
                                           : fatctx_container_record(container, at, info, &error_);
      if (!ok(code) || !record.whole()) return;
      borrowed(info->name);
      borrowed(info->weights, info->weight_count);
      return;
    }
    case 5: {
      Sized<fatctx_record_info> record(input_.byte());
      const char* const name = word();
      (void)checked(fatctx_container_find(container, name, out(*record.get()), &error_));
      return;
    }
    case 16: {
      const std::uint32_t id = input_.byte() % 9;
      std::vector<std::uint32_t> ids(input_.byte() % 4);
      std::uint32_t* const into = null() ? nullptr : ids.data();
      if (!ok(fatctx_container_same_bytes(container, id, into, ids.size(), out(number), &error_))) return;
      const auto given = std::min<std::uint64_t>(number, ids.size());
      for (std::size_t i = 0; i < given; ++i) {
        require(ids[i] != id && (i == 0 || ids[i - 1] < ids[i]), "others of the same bytes come in order");
      }
      fatctx_file_range absent[2] = {};
      const std::uint32_t read_payload = input_.byte() % 2;
      if (!ok(fatctx_container_absent(container, id, read_payload, absent, 2, out(number), &error_))) return;
      require(number < 2 || absent[0].offset + absent[0].size < absent[1].offset, "absent ranges come in order");
      return;
    }
    case 17: {
      std::uint32_t access_path = 0;
      if (ok(fatctx_container_access_path(container, input_.byte() % 9, out(access_path), &error_))) {
        require(std::strcmp(fatctx_access_path_name(access_path), "unknown") != 0, "an access path has a name");
      }
      return;
    }
    default: {
      const std::uint32_t id = input_.byte() % 9;
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_container_record_target(container, id, buffer, capacity, size, &error_);
      });
    }
  }
}

// Reads into memory of the size of the record, or of one byte more; or waits for checks.
void Program::read_into_memory(fatctx_container container, std::uint8_t choice) {
  if (choice % 2 == 0) {
    const std::uint32_t ids[] = {choice % 9U, choice / 9U % 9U};
    (void)checked(fatctx_container_await_checks(container, null() ? nullptr : ids, choice % 3, &error_));
    return;
  }
  fatctx_record_info info = {};
  info.struct_size = sizeof info;
  if (fatctx_container_record(container, choice % 9, &info, &error_) != FATCTX_OK || info.size_bytes > kMostRead)
    return;
  std::vector<std::byte> out(static_cast<std::size_t>(info.size_bytes) + (choice >= 250 ? 1 : 0));
  fatctx_read_options options = {};
  options.struct_size = sizeof options;
  options.method = choice / 9 % 4;
  options.threads = choice % 3;
  Sized<fatctx_read_report> report(input_.byte());
  (void)checked(fatctx_container_read(container, choice % 9, out.data(), out.size(), null() ? nullptr : &options,
                                      null() ? nullptr : report.get(), null() ? nullptr : &progress, work(choice),
                                      &error_));
}

void Program::read_records(fatctx_container container, std::uint8_t which) {
  switch (which) {
    case 10: {
      const std::uint8_t choice = input_.byte();
      if (choice >= 200) return read_into_memory(container, choice);
      (void)checked(fatctx_container_stream(container, choice % 9, &sink, work(choice), &error_));
      return;
    }
    case 11: {
      const std::uint8_t choice = input_.byte();
      Work* const watched = work(choice);
      (void)checked(fatctx_container_extract(container, choice % 9, out_path(), choice / 9 % 2,
                                             null() ? nullptr : &progress, watched, &error_));
      return;
    }
    default: {
      if (!affordable()) return;
      Sized<fatctx_verify_report> report(input_.byte());
      fatctx_verify_options options = {};
      options.struct_size = sizeof options;
      const std::uint8_t id = which == 13 ? input_.byte() : 0;
      options.finding = null() ? nullptr : &finding;
      options.progress = id >= 200 ? &progress : nullptr;
      options.user = work(id);
      options.strict = id == 7 ? 1 : 0;
      options.record_id = which == 13 ? id % 9U : 0;
      options.range_size = id % 5 == 4 ? std::uint64_t{id} * 512 : 0;
      options.range_offset = options.range_size == 0 ? 0 : std::uint64_t{id} * 4096;
      const fatctx_verify_options* const given = out(options);
      (void)checked(fatctx_container_verify(container, given, out(*report.get()), &error_));
      return;
    }
  }
}

// Compares two containers.
void Program::compare(std::uint8_t at) {
  if (!affordable()) return;
  fatctx_report report = {kNotWritten};
  std::uint32_t same = 2;
  Work* const watched = work(at);
  const fatctx_container before = {handle(kContainer)};
  const fatctx_container after = {handle(kContainer)};
  std::uint32_t* const said = out(same);
  const std::int32_t code =
      fatctx_container_diff(before, after, null() ? nullptr : &progress, watched, said, out(report), &error_);
  if (code == FATCTX_OK && said != nullptr) require(same < 2, "containers are the same or not");
  made(code, kReport, report);
}

void Program::use_sharing(std::uint8_t which) {
  if (which % 5 == 4) return compare(input_.byte());
  read_report();
}

}  // namespace fatctx::fuzz
