// The rules of docs/format.md section 9, by id. Every error of the reader quotes one; every rule has a row in
// tests/container/read/table_of_lies_test.cc (or a named test) that fails when the rule is removed.
#pragma once

#include <string_view>

namespace fatctx::container {

struct Rule {
  std::string_view id;
  std::string_view text;
};

inline constexpr Rule kRules[] = {
    {"F1", "the file starts with the magic and a major version this reader knows"},
    {"F2", "a prologue page matches its hash; one good copy suffices, two good copies are equal"},
    {"F3", "no unknown incompatible feature bit is set"},
    {"F4",
     "extent_log2 is 12, 16 or 21, granule_log2 is 12, 14 or 16, and each prologue copy is at a place of its form"},
    {"F5", "the uuid is not zero"},
    {"F6", "a slot matches its hash and its index equals its position; of each pair one good copy suffices"},
    {"F7", "a slot's uuid equals the prologue's"},
    {"F8", "a live generation is at least 1; a VOID slot holds nothing else; good mirrors agree"},
    {"F9", "the generations of the two pairs are an odd number apart; by exactly 1 if sealed"},
    {"F10", "committed_end is at most the file size, and equal to it when sealed"},
    {"F11", "TOC copies are on the unit, behind the header, inside committed_end, and do not overlap"},
    {"F12", "the TOC is its head and its tables and nothing else; counts and sizes are within their limits"},
    {"F13", "the head of the TOC matches the hash in its slot, and each page its hash in the head"},
    {"F14", "both TOC copies are equal"},
    {"F15", "each table is in its canonical order"},
    {"F16", "extents do not overlap each other, the header or a live TOC copy"},
    {"F17", "the gap between extents is exactly the alignment padding; the last one ends at committed_end"},
    {"F18", "record ids are unique and not zero"},
    {"F19", "types of segments and records are known, or the record is ignorable"},
    {"F20", "reserved bits and bytes are zero"},
    {"F21", "offsets are aligned as declared"},
    {"F22", "sizes are within their limits; without a codec stored and logical size are equal"},
    {"F23", "a record that must map has no codec"},
    {"F24", "a coded record expands within its limit"},
    {"F25", "hash algorithm, leaf size and codec are known"},
    {"F26",
     "every payload segment has its leaves, exactly as many as its size asks for: one in its row, more in a LEAVES "
     "segment"},
    {"F27", "a reference leads from an allowed record to a weight blob with the bound hash"},
    {"F28", "selection keys are unique, and so are the names of records that have one"},
    {"F29", "names are well-formed UTF-8 without control characters, within their length"},
    {"F30", "the names region is sorted, unique, without gaps, and every name is used"},
    {"F31", "exactly one description record has a key"},
    {"F32", "a description is at most 1 MiB, nested at most 32 deep, and parses"},
    {"F33", "tensors are inside their blob, with known types, checked sizes and declared aliases"},
    {"F34", "the value of a path-valued option is not stored"},
    {"F35", "padding is zero (checked by verify)"},
    {"F36", "a sealed file has no DEAD segment (that it has no tail is F10)"},
    {"F37", "facts that stand twice agree"},
    {"F38",
     "slices lie inside live payload segments and add up to their record's stored size; every live segment is used"},
    {"F39", "a recipe reads plain segments only, inside their bounds, and yields exactly its record"},
    {"F40", "directory and tables follow each other without gap or overlap"},
    {"F41", "the bytes of a coded record are one lz4 frame that yields exactly its logical size"},
    {"F42", "the program of a recipe is well-formed, canonical and within its limits"},
    {"F43", "a slot is signed as a whole or not at all"},
    {"F44", "a signed table of contents has the SHA-256 of everything it lists; digests are there for all or for none"},
    {"F45", "the name index, and the keys and links of records, say what the tables say"},
    {"F46", "a tensor table has the hash of its reference, its pages have theirs, and its index is right"},
};

}  // namespace fatctx::container
