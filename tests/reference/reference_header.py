"""Sections 2 and 3 of docs/format.md: prologues, slots, and the choice of the generation to open."""

from __future__ import annotations

from types import SimpleNamespace

from reference_fields import (FORMS, HASHED, LARGE, MAGIC, PAGE, PAGE_HASHES, PROLOGUE, SECTOR, SLOT, SLOT_NAMES, SMALL,
                              Findings, Form, Refused, any_set, hash_of, pages_of, slot_seed)
from reference_toc import MAX_FILE_SIZE, MAX_TOC_SIZE, check_head

SEALED, VOID = 1, 2


def read_header(data: bytes, findings: Findings) -> SimpleNamespace:
    """Does section 3.3, and checks the head of the TOC; raises as soon as the next step has nothing to work on."""
    degraded: list[str] = []
    prologue, form = read_prologue(data, findings, degraded)
    findings.stop_if_any()
    slot, pair, other = choose_slot(data, prologue, form, findings, degraded)
    if slot is None:
        raise findings[0]
    header = SimpleNamespace(prologue=prologue, form=form, slot=slot, pair=pair, other=other, degraded=degraded,
                             sealed=bool(slot.flags & SEALED), signed=any(slot.toc_sha256),
                             tail=len(data) - slot.committed_end)
    wrong = len(findings)
    check_bounds(slot, form, len(data), findings)
    if len(findings) > wrong or not read_toc(data, header, findings):
        raise findings[0]
    return header


def read_toc(data: bytes, header: SimpleNamespace, findings: Findings) -> bool:
    """Puts the TOC into the header, each part from the first copy in which it matches. Returns whether all parts
    exist."""
    slot = header.slot
    copies = [data[place:place + slot.toc_size] for place in (slot.toc_offset0, slot.toc_offset1)]
    bad: set[int] = set()
    head = good_part(copies, 0, slot.toc_head_size, slot.toc_hash, bad)
    if head is None:
        findings.add("F13", "neither copy of the head matches its hash", slot.toc_offset0, code="checksum_mismatch")
        return False
    check_head(head, header, findings)
    toc = head
    for number in range(pages_of(slot.toc_size - slot.toc_head_size)):
        begin = slot.toc_head_size + PAGE * number
        wanted = head[PAGE_HASHES + 16 * number:PAGE_HASHES + 16 * number + 16]
        page = good_part(copies, begin, min(begin + PAGE, slot.toc_size), wanted, bad)
        if page is None:
            findings.add("F13", f"neither copy of page {number} matches its hash", slot.toc_offset0 + begin,
                         code="checksum_mismatch")
            return False
        toc += page
    if 0 in bad:  # else nobody reads copy 1
        header.degraded += [f"TOC copy {number}" for number in sorted(bad)]
    header.toc = toc
    return True


def good_part(copies: list[bytes], begin: int, end: int, wanted: bytes, bad: set[int]) -> bytes | None:
    """Returns these bytes of the first copy in which they match their hash; notes the copies in which they do not."""
    bad |= {number for number, copy in enumerate(copies) if hash_of(copy[begin:end]) != wanted}
    return next((copy[begin:end] for copy in copies if hash_of(copy[begin:end]) == wanted), None)


def good_prologue(data: bytes, at: int) -> bytes | None:
    page = data[at:at + SECTOR]
    return page if page[:8] == MAGIC and hash_of(page[:HASHED]) == page[HASHED:] else None


def read_prologue(data: bytes, findings: Findings, degraded: list[str]) -> tuple[SimpleNamespace, Form]:
    if len(data) < SMALL.header_size:
        if data[:8] == MAGIC or not data:
            raise Refused("truncated", "F1", len(data), "the file ends inside its header")
        raise Refused("bad_magic", "F1", 0, "not a container")
    first = good_prologue(data, 0)
    if first:
        extent_log2 = PROLOGUE.parse(first).extent_log2
        places = FORMS[extent_log2].prologues if extent_log2 in FORMS else (0,)
        good = [(at, page) for at in places if (page := good_prologue(data, at))]
    else:
        good = [(at, page) for at in (SMALL.prologues[1], LARGE.prologues[1]) if (page := good_prologue(data, at))][:1]
    if not good:
        if not any(data[at:at + 8] == MAGIC for at in (0, SMALL.prologues[1], LARGE.prologues[1])):
            raise Refused("bad_magic", "F1", 0, "no copy of the prologue has the magic")
        raise Refused("checksum_mismatch", "F2", 0, "no copy of the prologue matches its hash")
    if len(good) == 1:
        degraded.append(f"prologue copy {0 if good[0][0] else 1}")
    elif good[0][1] != good[1][1]:
        findings.add("F2", "two good copies of the prologue differ", good[1][0])
    chosen = PROLOGUE.parse(good[0][1])
    findings.newer_fields = bool(chosen.ro_compat_features or chosen.compat_features)
    for at, page in good:
        check_prologue(PROLOGUE.parse(page), at, findings)
    form = FORMS.get(chosen.extent_log2, SMALL)
    if len(data) < form.header_size:
        findings.add("F1", "the file ends inside its header", len(data), code="truncated")
    return chosen, form


def check_prologue(prologue: SimpleNamespace, at: int, findings: Findings) -> None:
    if prologue.major_version != 1:
        findings.add("F1", "another version of the format", 8, code="unsupported")
    if prologue.incompat_features:
        findings.add("F3", "an unknown incompatible feature", 16, code="unsupported")
    if prologue.extent_log2 not in FORMS:
        findings.add("F4", "extent_log2", 12)
    elif at not in FORMS[prologue.extent_log2].prologues:
        findings.add("F4", "a copy of the prologue at a place of the other form", at)
    if prologue.granule_log2 not in (12, 14, 16) or prologue.granule_log2 > prologue.extent_log2:
        findings.add("F4", "granule_log2", 13)
    if not any(prologue.uuid):
        findings.add("F5", "the uuid is zero", 40)
    PROLOGUE.check_zeros(prologue, findings, "prologue")


def choose_slot(data, prologue, form: Form, findings: Findings, degraded: list[str]):
    good: dict[int, SimpleNamespace] = {}
    for index, at in enumerate(form.slots):
        page = data[at:at + SECTOR]
        if page[:4] != b"CTXS" or hash_of(page[:HASHED], slot_seed(prologue.uuid, index)) != page[HASHED:]:
            degraded.append(f"slot {SLOT_NAMES[index]}")
            continue
        good[index] = slot = SLOT.parse(page)
        check_slot(slot, index, at, prologue, findings)
    if not good:
        findings.add("F6", "no slot is good", form.slots[0], code="checksum_mismatch")
        return None, None, None
    pairs = {}
    for name, first, second in (("A", 0, 2), ("B", 1, 3)):
        if first in good and second in good and not mirrors_agree(good[first], good[second]):
            older = older_mirror(good, first, second)
            if older is None:
                findings.add("F8", f"the mirrors of pair {name} differ", form.slots[second])
            else:
                del good[older]
                degraded.append(f"slot {SLOT_NAMES[older]}")
        if first in good or second in good:
            pairs[name] = good.get(first, good.get(second))
    newest = max(pairs, key=lambda name: pairs[name].generation)
    if len(pairs) == 2:
        apart = abs(pairs["A"].generation - pairs["B"].generation)
        if apart % 2 == 0 or (apart != 1 and pairs[newest].flags & SEALED):
            findings.add("F9", "the generations of the pairs do not follow each other")
        elif apart != 1:
            degraded.append("older slot pair")
    if pairs[newest].flags & VOID:
        if len(pairs) == 2:
            findings.add("F8", "the newer pair is VOID")
        else:  # The live pair is lost.
            findings.add("F6", "the live pair is damaged", code="checksum_mismatch")
        return None, None, None
    return pairs[newest], newest, pairs.get("B" if newest == "A" else "A")


def older_mirror(good: dict[int, SimpleNamespace], first: int, second: int) -> int | None:
    """Returns the outdated slot of two mirrors that differ as a crash leaves them, or None."""
    for newer, older in ((first, second), (second, first)):
        one, other = good[newer], good[older]
        if (one.flags | other.flags) & SEALED or one.flags & VOID:
            continue
        later_attempt = not other.flags & VOID and one.generation == other.generation
        later_turn = one.generation > other.generation and (one.generation - other.generation) % 2 == 0
        if later_turn or (later_attempt and one.committed_end > other.committed_end):
            return older
    return None


def mirrors_agree(one: SimpleNamespace, other: SimpleNamespace) -> bool:
    return all(getattr(one, name) == getattr(other, name)
               for name, *_ in SLOT.fields if name not in ("slot_index", "page_hash"))


def check_slot(slot, index: int, at: int, prologue, findings: Findings) -> None:
    what = f"slot {SLOT_NAMES[index]}"
    if slot.slot_index != index:
        findings.add("F6", f"{what} says it is {slot.slot_index}", at + 4)
    if slot.uuid != prologue.uuid:
        findings.add("F7", f"{what} has another uuid", at + 8)
    findings.add_unknown_bits(slot.flags, SEALED | VOID, what)
    if slot.flags & VOID:
        rest = [name for name, offset, _, _ in SLOT.fields if 32 <= offset < 264 and any_set(getattr(slot, name))]
        if slot.flags & SEALED or rest:
            findings.add("F8", f"{what} is VOID and says {rest or 'sealed'}", at)
    elif slot.generation < 1:
        findings.add("F8", f"{what} is live with generation 0", at + 24)
    if not slot.flags & VOID and (
            any(slot.toc_sha256) != any(slot.key_id) or any(slot.key_id) != any(slot.signature) or (
            any(slot.previous_toc_sha256) and not any(slot.toc_sha256))):
        findings.add("F43", f"{what} is signed in part", at + 88)
    SLOT.check_zeros(slot, findings, what)


def check_bounds(slot, form: Form, file_size: int, findings: Findings) -> None:
    """Does steps 5 and 6 of section 3.3, and checks the limits of their ranges."""
    if slot.committed_end > file_size:
        findings.add("F10", "the file was cut", file_size, code="truncated")
    elif slot.flags & SEALED and slot.committed_end < file_size:
        findings.add("F10", "bytes behind a sealed file", slot.committed_end, code="trailing_data")
    if slot.committed_end > MAX_FILE_SIZE:
        findings.add("F22", "committed_end is above its limit", code="limit_exceeded")
    check_sizes(slot.toc_size, slot.toc_head_size, findings)
    places = (slot.toc_offset0, slot.toc_offset1)
    for place in places:
        if place % form.unit or place < form.header_size:
            findings.add("F11", "a TOC copy is not on the unit behind the header", place)
        elif slot.toc_size > slot.committed_end or place > slot.committed_end - slot.toc_size:
            findings.add("F11", "a TOC copy ends behind committed_end", place)
    if abs(places[0] - places[1]) < slot.toc_size or places[0] == places[1]:
        findings.add("F11", "the TOC copies overlap", places[1])


def check_sizes(toc_size: int, head_size: int, findings: Findings) -> None:
    if toc_size > MAX_TOC_SIZE:
        findings.add("F12", "the TOC is too large", code="limit_exceeded")
    pages = pages_of(toc_size - head_size)
    if pages < 1 or head_size not in (PAGE_HASHES + 16 * pages, PAGE_HASHES + 48 * pages):
        findings.add("F12", "the head has another size than its pages ask for")


def earlier_header(data: bytes, newest: SimpleNamespace, generations: list, number: int,
                   findings: Findings) -> SimpleNamespace:
    """Returns the header at the time when generation `number` was the current one (section 13.5). Requires: the
    newest generation, which lists it, breaks no rule."""
    entry = next((entry for entry in generations if entry.number == number), None)
    if entry is None:
        raise Refused("not_found", None, None, f"generation {number} is not in the file")
    slot = SimpleNamespace(**vars(newest.slot))
    slot.generation, slot.committed_end = number, entry.committed_end
    slot.toc_offset0, slot.toc_offset1 = entry.toc_offset, entry.committed_end - entry.toc_size
    slot.toc_size, slot.toc_head_size, slot.toc_hash = entry.toc_size, entry.toc_head_size, entry.toc_hash
    signer = newest.other
    signed = signer is not None and not signer.flags & VOID and all(
        getattr(signer, name) == getattr(slot, name)
        for name in ("generation", "toc_hash", "toc_size", "toc_head_size", "committed_end"))
    if signed:  # by a slot that could be opened alone
        wrong = Findings()
        check_bounds(signer, newest.form, len(data), wrong)
        signed = not wrong
    slot.toc_sha256, slot.key_id = (signer.toc_sha256, signer.key_id) if signed else (bytes(32), bytes(32))
    header = SimpleNamespace(**{**vars(newest), "slot": slot, "signed": any(slot.toc_sha256), "tail": 0, "degraded": [
        what for what in newest.degraded if not what.startswith("TOC")]})
    check_sizes(slot.toc_size, slot.toc_head_size, findings)
    if not read_toc(data, header, findings):
        raise findings[0]
    return header
