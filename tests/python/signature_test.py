"""Keys, signing, and opens that check the signer of a file."""

import os

import pytest

import fatctx
from small_container import pattern


@pytest.fixture()
def keys(tmp_path) -> fatctx.KeyFiles:
    return fatctx.make_keys(tmp_path / "release")


@pytest.fixture()
def signed(small, keys):
    fatctx.sign(small, keys.secret_path)
    return small


def test_a_key_is_its_bytes_its_line_and_its_id(keys, tmp_path):
    key = keys.public_key
    assert fatctx.read_public_key(keys.public_path) == key == fatctx.PublicKey(bytes(key))
    assert fatctx.PublicKey.from_text(str(key)) == key and str(key).startswith("fatctx-public-key-v1 ")
    other = fatctx.make_keys(tmp_path / "other").public_key
    assert other != key and len({key, fatctx.PublicKey(bytes(key)), other}) == 2
    assert len(bytes(key)) == 32 and len(key.id) == 64 and key.id in repr(key)
    assert os.stat(keys.secret_path).st_mode & 0o777 == 0o600
    with pytest.raises(fatctx.Exists):
        fatctx.make_keys(tmp_path / "release")
    with pytest.raises(fatctx.InvalidArgument, match="31 bytes"):
        fatctx.PublicKey(bytes(31))
    with pytest.raises(fatctx.InvalidArgument):
        fatctx.PublicKey.from_text("none")
    with pytest.raises(FileNotFoundError):
        fatctx.read_public_key(tmp_path / "none")


def test_a_signed_copy_says_who_and_the_source_stays(small, keys, tmp_path):
    out, seen = tmp_path / "out", []
    report = fatctx.sign(small, keys.secret_path, out, seal=True, progress=lambda done, total: seen.append((done, total)))
    assert (report.path, report.generation, report.sealed) == (str(out), 2, True)
    assert report.key_id == keys.public_key.id and report.file_size == out.stat().st_size
    assert report.uuid == fatctx.open(small).report.uuid and "generation 2" in repr(report)
    assert seen and seen[-1][0] == seen[-1][1] > 0
    assert not fatctx.open(small).report.signed_file and fatctx.open(small).report.key_id == ""
    with pytest.raises(fatctx.Exists):
        fatctx.sign(small, keys.secret_path, out)
    assert fatctx.sign(small, keys.secret_path, out, overwrite=True).generation == 2


def test_what_progress_raises_stops_it_and_leaves_no_file(small, keys, tmp_path):
    def stop(done, total):
        raise KeyError("enough")

    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(KeyError, match="enough"):
        fatctx.sign(small, keys.secret_path, tmp_path / "out", progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_an_open_with_trusted_keys_takes_only_what_they_have_signed(signed, keys, tmp_path):
    other = fatctx.make_keys(tmp_path / "other").public_key
    report = fatctx.open(signed, trusted_keys=[other, keys.public_key]).report
    assert report.signed_file and report.signature_verified and report.key_id == keys.public_key.id
    unasked = fatctx.open(signed).report
    assert unasked.signed_file and not unasked.signature_verified and unasked.key_id == keys.public_key.id
    with pytest.raises(fatctx.SignatureBad):
        fatctx.open(signed, trusted_keys=[other])
    with pytest.raises(fatctx.Rollback):
        fatctx.open(signed, trusted_keys=[keys.public_key], minimum_generation=3)
    with pytest.raises(fatctx.SignatureBad):
        fatctx.open_memory(signed.read_bytes(), trusted_keys=(other,))
    assert fatctx.open_model(signed, "x86-64-v3", trusted_keys=iter([keys.public_key])).session()


def test_keywords_that_are_no_keys(signed):
    with pytest.raises(fatctx.InvalidArgument, match="without a key"):
        fatctx.open(signed, trusted_keys=[])
    with pytest.raises(TypeError, match="expected fatctx.PublicKey, found b'key'"):
        fatctx.open(signed, trusted_keys=[b"key"])
    assert fatctx.open(signed, trusted_keys=None).report.signed_file


def test_verify_finds_who_has_signed_also_of_an_earlier_generation(signed, keys, tmp_path):
    trusted = [keys.public_key]
    whole = fatctx.verify_file(signed, trusted_keys=trusted)
    assert whole and whole.signature_verified and whole.key_id == keys.public_key.id
    other = fatctx.make_keys(tmp_path / "other").public_key
    [finding] = fatctx.verify_file(signed, trusted_keys=[other]).findings
    assert isinstance(finding, fatctx.SignatureBad)

    fatctx.append(signed, [fatctx.PackRecord("opaque", "added", pattern(70_000, 9))])
    [finding] = fatctx.verify_file(signed, trusted_keys=trusted).findings
    assert isinstance(finding, fatctx.SignatureMissing)
    assert fatctx.verify_file(signed, trusted_keys=trusted, generation=2).signature_verified
    [finding] = fatctx.verify_file(signed, trusted_keys=trusted, generation=2, minimum_generation=3).findings
    assert isinstance(finding, fatctx.Rollback)
    with pytest.raises(fatctx.NotFound, match="generation 9 is not in the file"):
        fatctx.verify_file(signed, generation=9)
    assert fatctx.open(signed, generation=2, trusted_keys=trusted).report.signature_verified


def test_nothing_damaged_is_signed(small, keys, tmp_path):
    record = fatctx.open(small).record("net.aarch64")
    data = bytearray(small.read_bytes())
    data[record.file_offset + 5] ^= 1
    small.write_bytes(data)
    with pytest.raises(fatctx.ChecksumMismatch) as caught:
        fatctx.sign(small, keys.secret_path, tmp_path / "out")
    assert caught.value.record_id == record.id and not (tmp_path / "out").exists()


def test_a_key_that_others_can_read_signs_nothing(small, keys):
    os.chmod(keys.secret_path, 0o644)
    with pytest.raises(fatctx.OperationNotPermitted):
        fatctx.sign(small, keys.secret_path)
