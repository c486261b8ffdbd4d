package dev.fatctx;

/** A partial container that does not have the bytes. */
public final class NotPresentException extends FatctxException {
    private static final long serialVersionUID = 1;

    NotPresentException(Failure failure) {
        super(failure);
    }
}
