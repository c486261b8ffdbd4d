package dev.fatctx;

/** The facts of a record. They stay valid after the container is closed. */
public final class RecordInfo {
    private final long[] numbers;
    private final String[] texts;
    private final int[] weights;
    private final byte[] hash;

    RecordInfo(Object[] raw) {
        numbers = (long[]) raw[0];
        texts = Texts.of(raw[1]);
        weights = (int[]) raw[2];
        hash = (byte[]) raw[3];
    }

    public int id() {
        return (int) numbers[0];
    }

    public RecordType type() {
        return RecordType.of(numbers[1]);
    }

    /** Says if this version of the library can hand the record out. */
    public boolean supported() {
        return numbers[2] != 0;
    }

    /** Returns the size of its bytes. */
    public long size() {
        return numbers[3];
    }

    /** Says if the record is compressed: then it has no view. */
    public boolean compressed() {
        return numbers[4] != 0;
    }

    /** Says if the record fits devices that nothing is known about. */
    public boolean generic() {
        return numbers[5] != 0;
    }

    public String name() {
        return texts[0];
    }

    public String group() {
        return texts[1];
    }

    public String unit() {
        return texts[2];
    }

    public String backend() {
        return texts[3];
    }

    public String part() {
        return texts[4];
    }

    public String arch() {
        return texts[5];
    }

    /** Returns the target for people: "htp SM8650 soc 57 v75 vtcm 8". */
    public String target() {
        return texts[6];
    }

    /** Returns the ids of the weight blobs that it refers to. */
    public int[] weights() {
        return weights.clone();
    }

    /** Returns the hash of its bytes, 16 bytes. */
    public byte[] hash() {
        return hash.clone();
    }

    @Override
    public String toString() {
        return "record " + id() + " " + name() + " (" + type() + ", " + size() + " bytes)";
    }
}
