// The style sheets as one text, for the shadow root; later sheets may refine earlier ones.

import around from "./around.css";
import data from "./data.css";
import findings from "./findings.css";
import flow from "./flow.css";
import inspector from "./inspector.css";
import ledger from "./ledger.css";
import menus from "./menus.css";
import outline from "./outline.css";
import shell from "./shell.css";
import stepping from "./stepping.css";
import strides from "./strides.css";
import timeline from "./timeline.css";
import tokens from "./tokens.css";

export const styles = [
  tokens,
  shell,
  menus,
  around,
  outline,
  inspector,
  data,
  strides,
  findings,
  ledger,
  stepping,
  timeline,
  flow,
].join("\n");
