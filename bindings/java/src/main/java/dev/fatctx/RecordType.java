package dev.fatctx;

/** The type of a record. */
public enum RecordType {
    CONTEXT_BINARY(1),
    WEIGHT_BLOB(2),
    TENSOR_TABLE(3),
    SOURCE_MODEL(4),
    WRAPPER_MODEL(5),
    DESCRIPTION(6),
    OPAQUE(7),
    UNKNOWN(0);

    private final int number;

    RecordType(int number) {
        this.number = number;
    }

    static RecordType of(long number) {
        for (RecordType type : values()) {
            if (type.number == number) return type;
        }
        return UNKNOWN;
    }
}
