package dev.fatctx;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** An archive as apps are: stored entries, whose bytes begin at a multiple of a number, as zipalign arranges it. */
final class ApkLike {
    private static final int LOCAL_HEADER = 30;
    private static final int ALIGNMENT_FIELD = 0xD935; // of Android: the alignment, then zeros

    final Path file;
    /** The first byte of the asset, as AssetFileDescriptor.getStartOffset() gives it. */
    final long offset;

    final long length;

    private ApkLike(Path file, long offset, long length) {
        this.file = file;
        this.offset = offset;
        this.length = length;
    }

    /** Writes an archive of three entries, of which the second has the bytes. */
    static ApkLike with(Path file, byte[] bytes, int alignment) throws IOException {
        long[] written = {0};
        try (OutputStream raw = Files.newOutputStream(file);
                ZipOutputStream zip = new ZipOutputStream(new OutputStream() {
                    @Override
                    public void write(int one) throws IOException {
                        raw.write(one);
                        ++written[0];
                    }

                    @Override
                    public void write(byte[] some, int from, int size) throws IOException {
                        raw.write(some, from, size);
                        written[0] += size;
                    }
                })) {
            zip.putNextEntry(new ZipEntry("classes.dex"));
            zip.write(Samples.random(7, 5001));
            zip.closeEntry();
            zip.flush();
            ZipEntry entry = stored("assets/net.fatctx", bytes);
            byte[] extra = padding(written[0] + LOCAL_HEADER + entry.getName().length(), alignment);
            entry.setExtra(extra);
            long offset = written[0] + LOCAL_HEADER + entry.getName().length() + extra.length;
            zip.putNextEntry(entry);
            zip.write(bytes);
            zip.closeEntry();
            zip.putNextEntry(stored("assets/empty", new byte[0]));
            zip.closeEntry();
            zip.finish();
            return new ApkLike(file, offset, bytes.length);
        }
    }

    private static ZipEntry stored(String name, byte[] bytes) {
        CRC32 sum = new CRC32();
        sum.update(bytes);
        ZipEntry entry = new ZipEntry(name);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(bytes.length);
        entry.setCrc(sum.getValue());
        return entry;
    }

    private static byte[] padding(long start, int alignment) {
        int head = 6;
        int zeros = (int) ((alignment - (start + head) % alignment) % alignment);
        byte[] field = new byte[head + zeros];
        int[] words = {ALIGNMENT_FIELD, 2 + zeros, alignment};
        for (int i = 0; i < words.length; ++i) {
            field[2 * i] = (byte) words[i];
            field[2 * i + 1] = (byte) (words[i] >> 8);
        }
        return field;
    }
}
