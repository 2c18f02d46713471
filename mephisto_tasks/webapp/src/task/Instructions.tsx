import type { TaskConfig } from "../wire/config";
import { Terms } from "../screens/Preview";
import { t } from "../language";
import { Button } from "../ui/Button";
import { Modal } from "../ui/Modal";
import { Sections } from "../ui/Sections";
import { GiveBack } from "./GiveBack";
import styles from "../ui/Modal.module.css";

export interface InstructionsProps {
  config: TaskConfig;
  open: boolean;
  onClose: () => void;
  /** Null where the task cannot be given back from here. */
  onGiveBack: (() => void) | null;
}

/** All that the practice does not show, for who wants to read it: opened by the header's button. */
export function Instructions({ config, open, onClose, onGiveBack }: InstructionsProps) {
  const said = config.instructions.sections.some(({ lines }) => lines.includes(config.pay));
  return (
    <Modal
      title={t("Instructions")}
      open={open}
      onClose={onClose}
      closeLabel={t("Close the instructions")}
      foot={
        <>
          {onGiveBack && <GiveBack onGiveBack={onGiveBack} />}
          <Button onClick={onClose}>{t("Got it")}</Button>
        </>
      }
    >
      {/* A scrolling region must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={styles.body} tabIndex={0} role="region" aria-label={t("Text of the instructions")}>
        <Sections sections={config.instructions.sections} />
        <Terms config={said ? { ...config, pay: "" } : config} />
      </div>
    </Modal>
  );
}
