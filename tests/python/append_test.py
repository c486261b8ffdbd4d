

def test_evidence_is_noted_beside_a_record(small_file):
    with fatctx.Appender(small_file) as appender:
        appender.note("net.aarch64", device="Galaxy S24", metric="latency_ms", value="3.1", date="2026-11-22",
                      tool="qnn-net-run 2.51")
        report = appender.commit()
    container = fatctx.open(small_file)
    said = {described.record_id: described.notes for described in container.describe().records}

    assert report.records == [] and report.generation == container.report.generation
    [note] = said[container.find("net.aarch64").id]
    assert (note.device, note.tool, note.metric) == ("Galaxy S24", "qnn-net-run 2.51", "latency_ms")
    assert (note.value, note.date) == ("3.1", "2026-11-22") and "latency_ms" in repr(note)
    with fatctx.Appender(small_file) as appender:
        with pytest.raises(fatctx.NotFound):
            appender.note("nobody", device="d", metric="m", value="1", date="2026-11-22")
        with pytest.raises(fatctx.InvalidArgument, match="2026-02-30"):
            appender.note("net.aarch64", device="d", metric="m", value="1", date="2026-02-30")
