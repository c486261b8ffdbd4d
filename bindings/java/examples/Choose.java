import dev.fatctx.Container;
import dev.fatctx.FatctxException;
import dev.fatctx.Model;
import dev.fatctx.RecordInfo;
import dev.fatctx.Session;
import dev.fatctx.View;
import java.nio.ByteBuffer;
import java.nio.file.Paths;

/** Opens a container, says which record fits this machine and why, and looks at its bytes: Choose model.fatctx */
public final class Choose {
    public static void main(String[] arguments) {
        if (arguments.length != 1) {
            System.err.println("usage: Choose FILE");
            System.exit(2);
        }
        try {
            choose(arguments[0]);
        } catch (FatctxException failed) { // NoMatchException has the reason for each record
            System.err.println(failed.getMessage());
            System.exit(1);
        }
    }

    private static void choose(String file) {
        ByteBuffer bytes;
        try (Container container = Container.open(Paths.get(file))) { // maps the file once per process
            for (RecordInfo record : container.records()) System.out.println(record);
            try (Model model = container.select()) { // for this machine
                System.out.println(model.explain()); // why this record and no other
                Session session = model.beginSession();
                try (View binary = session.binary()) {
                    bytes = binary.bytes(); // mapped, not copied
                }
                session.end(); // can the results be trusted?
            }
        }
        System.out.println("binary: " + bytes.remaining() + " bytes"); // still mapped, because the buffer is
    }
}
