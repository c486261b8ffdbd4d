package dev.fatctx;

/** An argument that no file could make right. */
public final class InvalidArgumentException extends FatctxException {
    private static final long serialVersionUID = 1;

    InvalidArgumentException(Failure failure) {
        super(failure);
    }
}
