package dev.fatctx;

import java.util.Arrays;

/** A public key that may have signed a container. */
public final class PublicKey {
    private static final String WORD = "fatctx-public-key-v1 ";
    private static final int SIZE_BYTES = 32;

    private final byte[] bytes;

    private PublicKey(byte[] bytes) {
        this.bytes = bytes;
    }

    /** Makes a key of its 32 bytes. */
    public static PublicKey of(byte[] bytes) {
        if (bytes.length != SIZE_BYTES) throw refused("it has " + bytes.length + " bytes instead of " + SIZE_BYTES);
        return new PublicKey(bytes.clone());
    }

    /** Reads the line of a key file of `fatctx keygen`: "fatctx-public-key-v1 cc1e88...". */
    public static PublicKey parse(String line) {
        String text = line.endsWith("\n") ? line.substring(0, line.length() - 1) : line;
        if (!text.startsWith(WORD)) throw refused("a public key begins with \"" + WORD.trim() + "\"");
        String digits = text.substring(WORD.length());
        if (!digits.matches("[0-9a-f]{64}")) throw refused("behind the first word a key has 64 hexadecimal digits");
        byte[] bytes = new byte[SIZE_BYTES];
        for (int i = 0; i < SIZE_BYTES; ++i) bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        return new PublicKey(bytes);
    }

    private static FatctxException refused(String reason) {
        return FatctxException.refusal(ErrorCode.INVALID_ARGUMENT, "not a public key: " + reason);
    }

    static byte[] joined(PublicKey[] keys) {
        byte[] all = new byte[SIZE_BYTES * keys.length];
        for (int i = 0; i < keys.length; ++i) System.arraycopy(keys[i].bytes, 0, all, SIZE_BYTES * i, SIZE_BYTES);
        return all;
    }

    /** Returns the 32 bytes. */
    public byte[] bytes() {
        return bytes.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PublicKey && Arrays.equals(bytes, ((PublicKey) other).bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }
}
