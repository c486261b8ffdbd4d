package dev.fatctx;

/** Says how well a record fits the device, from the best to the worst. */
public enum Level {
    OPTIMAL(1),
    PREFER_RECOMPILATION(2),
    FALLBACK(3),
    UNSUPPORTED(4),
    UNKNOWN(0);

    private final int number;

    Level(int number) {
        this.number = number;
    }

    static Level of(long number) {
        for (Level level : values()) {
            if (level.number == number) return level;
        }
        return UNKNOWN;
    }
}
