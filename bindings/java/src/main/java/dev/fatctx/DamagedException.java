package dev.fatctx;

/** A file that is no container, or a damaged one. */
public class DamagedException extends FatctxException {
    private static final long serialVersionUID = 1;

    DamagedException(Failure failure) {
        super(failure);
    }
}
