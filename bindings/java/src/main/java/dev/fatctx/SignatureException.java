package dev.fatctx;

/** A container that no trusted key has signed, or an older one than is accepted. */
public final class SignatureException extends FatctxException {
    private static final long serialVersionUID = 1;

    SignatureException(Failure failure) {
        super(failure);
    }
}
