package dev.fatctx;

/** Bytes that differ from their hash. {@link #recordId()} names the record. */
public final class ChecksumException extends DamagedException {
    private static final long serialVersionUID = 1;

    ChecksumException(Failure failure) {
        super(failure);
    }
}
