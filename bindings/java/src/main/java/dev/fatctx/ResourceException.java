package dev.fatctx;

/** A limit, or memory, that does not suffice or may not be used. */
public final class ResourceException extends FatctxException {
    private static final long serialVersionUID = 1;

    ResourceException(Failure failure) {
        super(failure);
    }
}
