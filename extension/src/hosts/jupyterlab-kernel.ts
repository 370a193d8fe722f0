// Runs gradviz's magics in the kernel of a notebook, outside of its cells.

import type { MimeModel } from "@jupyterlab/rendermime";
import type { Kernel, KernelMessage } from "@jupyterlab/services";
import { MIME } from "./jupyterlab-output.js";

const LOAD = 'get_ipython().extension_manager.load_extension("gradviz")';
const IS_WATCHING =
  'getattr(get_ipython().magics_manager.registry.get("GradvizMagics"), "_following", None) is not None';
// The kernel closes the views of a cell that runs again; commands share one such cell.
const CELL = { cellId: "gradviz-command" };

/** What the kernel answered: the last graph that it displayed, and what it said. */
export interface Answer {
  readonly output: MimeModel["data"] | null;
  /** One sentence where it failed, else "". */
  readonly problem: string;
  readonly isWatching: boolean;
}

/** Run `%gradviz line`; an empty line only loads the extension. */
export async function runMagic(kernel: Kernel, line: string): Promise<Answer> {
  const call = `get_ipython().run_line_magic("gradviz", ${JSON.stringify(line)})`;
  let output: Answer["output"] = null;
  const said: string[] = [];
  const future = kernel.requestExecute(
    {
      code: line === "" ? LOAD : `${LOAD}\n${call}`,
      store_history: false,
      stop_on_error: false,
      user_expressions: { watching: IS_WATCHING },
    },
    true,
    CELL,
  );
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === "display_data") {
      const data = content.data as MimeModel["data"];
      if (MIME in data) output = data;
    } else if (header.msg_type === "stream" && content.name === "stderr") {
      said.push(String(content.text));
    } else if (header.msg_type === "error") said.push(String(content.evalue));
  };
  const reply = await future.done;
  return { output, problem: firstLine(said), isWatching: isTrue(reply) };
}

function firstLine(said: readonly string[]): string {
  const line = said.join("\n").trim().split("\n")[0] ?? "";
  return line.replace(/^UsageError: /, "");
}

function isTrue({ content }: KernelMessage): boolean {
  const values = content.user_expressions as
    | Readonly<Record<string, { readonly data?: Readonly<Record<string, string>> }>>
    | undefined;
  return values?.watching?.data?.["text/plain"] === "True";
}
