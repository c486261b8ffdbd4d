package dev.fatctx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The library as an app has it by default: without libsodium and liblz4. */
@Tag("lean")
class LeanTest {
    @TempDir Path folder;

    @Test
    void itOpensAndChooses() throws IOException {
        try (Container container = Container.open(Samples.pack(folder));
                Device device = Device.parse("SM8650");
                Model model = container.select(new SelectOptions().device(device));
                Session session = model.beginSession()) {
            assertEquals(100_001, session.binary().bytes().remaining());
        }
    }

    @Test
    void itRefusesKeysInsteadOfIgnoringThem() {
        Path signed = Samples.GOLDEN.resolve("signed.fatctx");
        OpenOptions options = new OpenOptions().trustedKeys(PublicKey.of(new byte[32]));
        UnsupportedException refused = assertThrows(UnsupportedException.class, () -> Container.open(signed, options));
        assertTrue(refused.getMessage().contains("FATCTX_LOADER_TRUST"), refused.getMessage());
        Container.open(signed).close();
    }
}
