package dev.fatctx;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The result of a choice. */
public final class Selection {
    private static final int NUMBERS_PER_VERDICT = 4;

    private final Level level;
    private final int tier;
    private final String group;
    private final int[] chosen;
    private final List<Verdict> verdicts;
    private final List<String> warnings;

    Selection(Object[] raw) {
        long[] numbers = (long[]) raw[0];
        level = Level.of(numbers[0]);
        tier = (int) numbers[1];
        group = Texts.of((byte[]) raw[1]);
        chosen = (int[]) raw[2];
        long[] rows = (long[]) raw[3];
        List<Verdict> read = new ArrayList<>();
        for (int i = 0; i < rows.length; i += NUMBERS_PER_VERDICT) {
            read.add(new Verdict(rows[i], rows[i + 1], rows[i + 2], rows[i + 3]));
        }
        verdicts = Collections.unmodifiableList(read);
        warnings = Collections.unmodifiableList(Arrays.asList(Texts.of(raw[4])));
    }

    /** Returns the lowest level among the chosen. */
    public Level level() {
        return level;
    }

    public int tier() {
        return tier;
    }

    /** Returns the group that was judged. */
    public String group() {
        return group;
    }

    /** Returns the ids of the chosen records, one per unit. */
    public int[] chosen() {
        return chosen.clone();
    }

    /** Returns one verdict per context binary. */
    public List<Verdict> verdicts() {
        return verdicts;
    }

    /** Returns warnings: "vtcm_unverified". */
    public List<String> warnings() {
        return warnings;
    }
}
