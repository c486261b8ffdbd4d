package dev.fatctx;

/** The judgement of one context binary. */
public final class Verdict {
    private final int recordId;
    private final Level level;
    private final int axis;
    private final boolean chosen;

    Verdict(long recordId, long level, long axis, long chosen) {
        this.recordId = (int) recordId;
        this.level = Level.of(level);
        this.axis = (int) axis;
        this.chosen = chosen != 0;
    }

    public int recordId() {
        return recordId;
    }

    public Level level() {
        return level;
    }

    /** Returns the axis that kept it from being chosen, "A1"; empty for a chosen one. */
    public String axis() {
        return axis == 0 ? "" : Texts.of(Native.axisName(axis));
    }

    public boolean chosen() {
        return chosen;
    }
}
