// The style sheets as one text, for the shadow root.
import inspector from "./inspector.css";
import shell from "./shell.css";
import strides from "./strides.css";
import tokens from "./tokens.css";

export const styles = [tokens, shell, inspector, strides].join("\n");
