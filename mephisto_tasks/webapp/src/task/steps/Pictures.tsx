import { useRef, useState } from "react";
import { t } from "../../language";
import { Button } from "../../ui/Button";
import type { Draft } from "../../wire/drafts";
import { HttpError } from "../../wire/http";
import type { SentImage } from "../../wire/state";
import { imageAddress } from "../Reply";
import { type Lack, Problem, useLeadOn, useStep } from "./StepShell";
import { TextField, textProblem } from "./TextField";
import styles from "./Pictures.module.css";

/** The server takes no larger ones either. */
const MAX_BYTES = 10_000_000;
const MAX_ALT = 500;

export interface PicturesProps {
  images: readonly SentImage[];
  most: number;
  busy: boolean;
  onBusy: (busy: boolean) => void;
  onChange: (change: (now: Draft) => Partial<Draft>) => void;
  onUpload: (file: Blob) => Promise<string>;
}

/** Pictures that go with a message: each is uploaded when it is chosen, shown as others will see it, and described. */
export function Pictures({ images, most, busy, onBusy, onChange, onUpload }: PicturesProps) {
  const { pending, said } = useStep();
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const leadOn = useLeadOn();

  const add = async (file: File) => {
    if (file.size > MAX_BYTES) {
      setProblem(t("That picture is larger than 10 MB. Please choose a smaller one."));
      return;
    }
    setProblem(null);
    onBusy(true);
    try {
      const digest = await onUpload(file);
      onChange(({ images: now }) => ({ images: now.some((one) => one.digest === digest) ? now : [...now, { digest, alt: "" }] }));
      leadOn(() => document.querySelector(`#${altId(digest)}`));
    } catch (error) {
      const told = error instanceof HttpError && error.status !== 0;
      setProblem(told ? error.message : t("The picture could not be sent. Please try again."));
    } finally {
      onBusy(false);
    }
  };
  const describe = (digest: string, alt: string) =>
    onChange(({ images: now }) => ({ images: now.map((one) => (one.digest === digest ? { digest, alt } : one)) }));
  const remove = (digest: string) => onChange(({ images: now }) => ({ images: now.filter((one) => one.digest !== digest) }));

  return (
    <div className={styles.pictures}>
      {images.map(({ digest, alt }) => (
        <div key={digest} className={styles.picture} role="group" aria-label={t("Your picture")}>
          <img src={imageAddress(digest)} alt={alt || t("Your picture")} />
          <div>
            <TextField
              id={altId(digest)}
              label={t("Describe the picture, for people who cannot see it")}
              value={alt}
              onChange={(text) => describe(digest, text)}
              minWords={1}
              maxChars={MAX_ALT}
              problem={said && altProblem(alt)}
            />
            <Button look="quiet" disabled={pending} onClick={() => remove(digest)}>
              {t("Remove this picture")}
            </Button>
          </div>
        </div>
      ))}
      {problem !== null && <Problem>{problem}</Problem>}
      <input
        ref={input}
        type="file"
        accept="image/png,image/jpeg,image/webp"
        hidden
        aria-label={t("Add a picture")}
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          event.target.value = ""; // the same file may be chosen again
          if (file !== undefined) {
            void add(file);
          }
        }}
      />
      <Button look="quiet" disabled={pending || busy || images.length >= most} onClick={() => input.current?.click()}>
        {t("Add a picture")}
      </Button>
      <span role="status" className="soft">
        {busy && t("The picture is being sent…")}
      </span>
    </div>
  );
}

/** What keeps a message with pictures from being sent. */
export function lackOfPictures(images: readonly SentImage[], busy: boolean): Lack | null {
  const bare = images.find(({ alt }) => altProblem(alt) !== null);
  if (bare === undefined) {
    return busy ? { where: "items", lead: () => undefined } : null;
  }
  return { where: "items", lead: () => document.getElementById(altId(bare.digest))?.focus() };
}

function altId(digest: string): string {
  return `alt-${digest}`;
}

function altProblem(alt: string): string | null {
  return textProblem(alt, t("Your description"), 1, MAX_ALT);
}
