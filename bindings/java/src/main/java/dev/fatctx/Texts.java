package dev.fatctx;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Texts on their way to C and back: UTF-8, and not the form that JNI's own strings have. */
final class Texts {
    private Texts() {}

    static String of(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    static String[] of(Object texts) {
        byte[][] all = (byte[][]) texts;
        String[] made = new String[all.length];
        for (int i = 0; i < all.length; ++i) made[i] = of(all[i]);
        return made;
    }

    /** Encodes a text; null stays null. Refuses texts that C would read as other ones. */
    static byte[] utf8(String text) {
        if (text == null) return null;
        if (text.indexOf('\0') >= 0) {
            throw FatctxException.refusal(
                    ErrorCode.INVALID_ARGUMENT, "the text \"" + text.replace("\0", "\\0") + "\" contains NUL");
        }
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[encoded.remaining()];
            encoded.get(bytes);
            return bytes;
        } catch (CharacterCodingException unpaired) {
            throw FatctxException.refusal(
                    ErrorCode.INVALID_ARGUMENT, "the text \"" + text + "\" has half of a surrogate pair");
        }
    }

    static byte[] required(String text, String name) {
        if (text == null) throw new NullPointerException(name);
        return utf8(text);
    }
}
