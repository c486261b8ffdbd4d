package dev.fatctx;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Facts about an open. */
public final class OpenReport {
    private final long[] numbers;
    private final String[] texts;
    private final List<String> degraded;

    OpenReport(Object[] raw) {
        numbers = (long[]) raw[0];
        texts = Texts.of(raw[1]);
        degraded = Collections.unmodifiableList(Arrays.asList(Texts.of(raw[2])));
    }

    /** Returns the path as it was given; a name in brackets for a descriptor or memory. */
    public String path() {
        return texts[0];
    }

    /** Returns the kind of the file system: "ext4". */
    public String filesystem() {
        return texts[1];
    }

    public String uuid() {
        return texts[2];
    }

    /** Returns the reason for copies; empty if views are not copies. */
    public String copyReason() {
        return texts[3];
    }

    /** Returns the version of the file's format: "1.0". */
    public String formatVersion() {
        return texts[4];
    }

    /** Returns the feature bits of a newer version that this one does not read; empty if there are none. */
    public String newerFeatures() {
        return texts[5];
    }

    public long generation() {
        return numbers[0];
    }

    /** Returns the newest generation of the file, which is larger if an earlier one was requested. */
    public long newestGeneration() {
        return numbers[1];
    }

    public long fileSize() {
        return numbers[2];
    }

    public boolean sealed() {
        return numbers[3] != 0;
    }

    public boolean signed() {
        return numbers[4] != 0;
    }

    /** Says if one of the trusted keys has signed the container. */
    public boolean signatureVerified() {
        return numbers[5] != 0;
    }

    /** Says if another open of this process had mapped the file. */
    public boolean alreadyLive() {
        return numbers[6] != 0;
    }

    /** Says if views show the file itself; otherwise they are copies, for {@link #copyReason()}. */
    public boolean mapped() {
        return numbers[7] != 0;
    }

    /** Returns the damaged copies of metadata; empty if the file is whole. */
    public List<String> degraded() {
        return degraded;
    }
}
