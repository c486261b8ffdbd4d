// Models, their sessions, and the views and tensors that they produce.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

void Program::use_models(std::uint8_t which) {
  fatctx_model chosen = {kNotWritten};
  fatctx_container container = {kNotWritten};
  fatctx_device device = {kNotWritten};
  fatctx_session session = {kNotWritten};
  fatctx_text text = {};
  if (which % 14 == 0) {
    const fatctx_container from = {handle(kContainer)};
    const fatctx_model_options* const options = model_options();
    return made(fatctx_model_choose(from, options, out(chosen), &error_), kModel, chosen);
  }
  if (which % 14 == 1) {
    const char* const file = path();
    const fatctx_model_options* const options = model_options();
    return made(fatctx_model_open(file, options, out(chosen), &error_), kModel, chosen);
  }
  if (which % 14 >= 9) return use_sessions({handle(kSession)}, which % 14);
  const fatctx_model of = {handle(kModel)};
  switch (which % 14) {
    case 2:
      return made(fatctx_model_container(of, out(container), &error_), kContainer, container);
    case 3:
      return made(fatctx_model_device(of, out(device), &error_), kDevice, device);
    case 4: {
      Sized<fatctx_selection> selection(input_.byte());
      (void)checked(fatctx_model_selection(of, out(*selection.get()), &error_));
      Sized<fatctx_error> damage(input_.byte());
      (void)checked(fatctx_model_damaged(of, input_.byte() % 3, out(*damage.get()), &error_));
      return;
    }
    case 5: {
      Sized<fatctx_verdict> verdict(input_.byte());
      (void)checked(fatctx_model_verdict(of, input_.byte() % 9, out(*verdict.get()), &error_));
      return;
    }
    case 6:
      if (ok(fatctx_model_warning(of, input_.byte(), out(text), &error_))) borrowed(text);
      return;
    case 7: {
      const std::uint8_t format = input_.byte() % 3;
      return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
        return fatctx_model_explain(of, format, buffer, capacity, size, &error_);
      });
    }
    default:
      return made(fatctx_model_begin_session(of, out(session), &error_), kSession, session);
  }
}

void Program::use_session_records(fatctx_session of) {
  const std::uint8_t choice = input_.byte();
  if (choice % 4 == 0) {
    Sized<fatctx_session_info> info(input_.byte());
    fatctx_session_info* const into = out(*info.get());
    if (!ok(fatctx_session_describe(of, into, &error_)) || !info.whole()) return;
    require(into->binary_count != 0, "a session has a context binary");
    require(std::strcmp(fatctx_model_format_name(into->format), "unknown") != 0, "a format has a name");
    return borrowed(into->path);
  }
  if (choice % 4 == 1) {
    Sized<fatctx_session_record> record(input_.byte());
    fatctx_session_record* const into = out(*record.get());
    if (!ok(fatctx_session_record_at(of, choice / 4 % 3, choice / 16, into, &error_)) || !record.whole()) return;
    borrowed(into->name);
    return borrowed(into->unit);
  }
  if (choice % 4 == 2) {
    fatctx_model model = {kNotWritten};
    return made(fatctx_session_model(of, out(model), &error_), kModel, model);
  }
  texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_session_json(of, buffer, capacity, size, &error_);
  });
}

void Program::use_sessions(fatctx_session of, std::uint8_t which) {
  fatctx_view view = {kNotWritten, nullptr, 0};
  switch (which) {
    case 9: {
      const char* const unit = word();
      return made_view(fatctx_session_binary(of, unit, out(view), &error_), view);
    }
    case 10:
      return use_session_records(of);
    case 11: {
      const std::uint8_t choice = input_.byte();
      if (choice >= 192) return (void)checked(fatctx_session_await_checks(of, &error_));
      return made_view(fatctx_session_weights(of, choice % 4, out(view), &error_), view);
    }
    case 12: {
      const char* const name = word();
      return made_view(fatctx_session_tensor(of, name, out(view), &error_), view);
    }
    default:
      return closed(kSession, of.id, checked(fatctx_session_end(of, &error_)) != FATCTX_ERROR_STALE_HANDLE);
  }
}

void Program::use_views(std::uint8_t which) {
  fatctx_view view = {kNotWritten, nullptr, 0};
  std::uint64_t number = 0;
  std::uint32_t id = 0;
  if (which % 8 < 3) {
    const fatctx_view of = view_handle();
    if (which % 8 == 0) return made_view(fatctx_view_copy(of, out(view), &error_), view);
    if (which % 8 == 1) {
      Sized<fatctx_view_info> info(input_.byte());
      fatctx_view_info* const said = out(*info.get());
      if (!ok(fatctx_view_describe(of, said, &error_)) || !info.whole()) return;
      if (said->size == 0) return;
      // The last byte may be behind the end of a file that was cut.
      borrowed(static_cast<const unsigned char*>(said->data) + (said->size - 1), 1);
      return;
    }
    Sized<fatctx_tensor_info> info(input_.byte());
    fatctx_tensor_info* const said = out(*info.get());
    if (!ok(fatctx_view_tensor(of, said, &error_)) || !info.whole()) return;
    borrowed(said->name);
    borrowed(said->shape, said->rank);
    if (said->strides_bytes != nullptr) borrowed(said->strides_bytes, said->rank);
    return;
  }
  const fatctx_tensor_table of = {handle(kTable)};
  switch (which % 8) {
    case 3:
    case 4:
      (void)checked(fatctx_tensor_table_size(of, out(number), null() ? nullptr : &id, &error_));
      return;
    case 5: {
      Sized<fatctx_tensor_info> info(input_.byte());
      (void)checked(fatctx_tensor_table_at(of, input_.byte() % 4, out(*info.get()), &error_));
      return;
    }
    case 6: {
      const char* const name = word();
      return made_view(fatctx_tensor_table_view(of, name, out(view), &error_), view);
    }
    default:
      return made_view(fatctx_tensor_table_view_at(of, input_.byte() % 4, out(view), &error_), view);
  }
}

}  // namespace fatctx::fuzz
