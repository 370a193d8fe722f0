// The commands of the palette.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import { type ICommandPalette, Notification } from "@jupyterlab/apputils";
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { type Answer, runMagic } from "./jupyterlab-kernel.js";
import { outputOf } from "./jupyterlab-output.js";
import type { GraphPanel } from "./jupyterlab-panel.js";
import { type Place, reveal } from "./jupyterlab-reveal.js";
import { selectedExpression } from "./selection.js";

const CATEGORY = "gradviz";
const CLOSE_AFTER_MS = 6000;
const NO_KERNEL = "gradviz needs a running kernel: run a cell first.";
const NO_NAME =
  "Put the cursor on a variable, or select an expression, in a code cell.";
const NO_CODE = "Choose a code cell to record.";
const RECORD = "%%gradviz";

const say = (sentence: string) =>
  void Notification.info(sentence, { autoClose: CLOSE_AFTER_MS });
const complain = (sentence: string) =>
  void Notification.error(sentence, { autoClose: CLOSE_AFTER_MS });

export function addCommands(
  app: JupyterFrontEnd,
  notebooks: INotebookTracker,
  panel: GraphPanel,
  palette: ICommandPalette | null,
): void {
  const { commands } = app;
  const open = () => app.shell.activateById(panel.id);
  const add = (name: string, label: string, execute: () => unknown) => {
    commands.addCommand(`gradviz:${name}`, {
      label,
      isEnabled: () => name === "open-panel" || notebooks.currentWidget !== null,
      execute,
    });
    palette?.addItem({ command: `gradviz:${name}`, category: CATEGORY });
  };
  add("open-panel", "Open the graph beside the notebook", open);
  add("show-variable", "Show the graph of the selected variable", () =>
    withKernel(notebooks, async (kernel) => {
      const editor = notebooks.activeCell?.editor;
      const expression = editor ? selectedExpression(editor) : "";
      if (expression === "") return complain(NO_NAME);
      const answer = await runMagic(kernel, expression);
      if (answer.output === null) return complain(sentenceOf(answer, expression));
      panel.offer(outputOf(answer.output));
      open();
    }),
  );
  add("record-cell", "Record this cell", () =>
    withKernel(notebooks, async (kernel) => {
      const { model } = notebooks.activeCell ?? {};
      if (model?.type !== "code") return complain(NO_CODE);
      const source = model.sharedModel.getSource();
      if (!source.trimStart().startsWith(RECORD)) {
        model.sharedModel.setSource(`${RECORD}\n${source}`);
      }
      const { problem } = await runMagic(kernel, "");
      if (problem !== "") return complain(problem);
      await commands.execute("notebook:run-cell");
    }),
  );
  add("toggle-cards", "Switch error cards on or off", () =>
    withKernel(notebooks, async (kernel) => {
      const { isWatching } = await runMagic(kernel, "");
      const { problem } = await runMagic(kernel, isWatching ? "off" : "on");
      if (problem !== "") complain(problem);
      else if (isWatching) say("Error cards are off.");
      else say("Error cards are on: below a cell that fails, a card names the line.");
    }),
  );
  commands.addCommand("gradviz:reveal", {
    label: "Show a place in the code",
    execute: (place) => reveal(app, notebooks, place as unknown as Place),
  });
}

async function withKernel(
  notebooks: INotebookTracker,
  action: (kernel: Kernel) => Promise<void>,
): Promise<void> {
  const kernel = notebooks.currentWidget?.sessionContext.session?.kernel;
  if (!kernel || kernel.status === "dead") return complain(NO_KERNEL);
  try {
    await action(kernel);
  } catch (error) {
    complain(error instanceof Error ? error.message : String(error));
  }
}

function sentenceOf({ problem }: Answer, expression: string): string {
  return problem || `\`${expression}\` has no graph that could be shown.`;
}
