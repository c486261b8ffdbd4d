package dev.fatctx;

/** A file that was changed or truncated while it was open. */
public final class ChangedException extends FatctxException {
    private static final long serialVersionUID = 1;

    ChangedException(Failure failure) {
        super(failure);
    }
}
