// Writes a traced call as one JSON line, and the results that a replay compares.
#pragma once

#include <string>

#include "base/json.h"
#include "fatctx/container.h"
#include "fatctx/select.h"

namespace fatctx::trace {

// Returns the result of a call, with everything that a replay compares.
[[nodiscard]] Json gave(const Error& error);
[[nodiscard]] Json gave(const Container& opened);
[[nodiscard]] Json gave(const Selection& selection, const Container& of);
[[nodiscard]] Json gave(const RecordView& view, const Container& of);

// Writes the line of a call to the sink of the trace.
void record_open(const Source& source, const OpenOptions& options, const Result<Container>& opened);
void record_select(const Container& container, std::span<const Candidate> candidates, const Device& device,
                   const SelectPolicy& policy, const Result<Selection>& selected);
void record_view(const Container& container, std::uint32_t record_id, const Result<RecordView>& acquired);

// Returns the hash that identifies the content of a container in trace lines.
[[nodiscard]] std::string toc_hash(const Container& container);

[[nodiscard]] Json to_json(const OpenOptions& options);
[[nodiscard]] Json to_json(const SelectPolicy& policy);
// Returns the known states of candidates beyond their keys; an object without members if nothing was known.
[[nodiscard]] Json states_of(std::span<const Candidate> candidates);
// Reads the options of a line. Errors: invalid_argument, naming the key, the value found and the values allowed.
[[nodiscard]] Result<OpenOptions> open_options_from(const Json& json);
[[nodiscard]] Result<SelectPolicy> select_policy_from(const Json& json);
[[nodiscard]] Status take_states(const Json& json, std::vector<Candidate>& candidates);

}  // namespace fatctx::trace
