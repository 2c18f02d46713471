import { Button as AriakitButton } from "@ariakit/react/button";
import { type ReactNode, useId } from "react";
import styles from "./Button.module.css";

export interface ButtonProps {
  children: ReactNode;
  onClick?: () => void;
  type?: "button" | "submit";
  look?: "main" | "quiet";
  disabled?: boolean;
  /** Looks disabled, yet can be pressed: pressing says what is missing. */
  unready?: boolean;
  /** Looks disabled and is announced so, yet can be pressed: pressing says why. */
  unavailable?: boolean;
  /** Read after the button's name. */
  description?: string | null;
}

export function Button(props: ButtonProps) {
  const { children, onClick, type = "button", look = "main", disabled = false, unready = false, unavailable = false } = props;
  const description = props.description ?? null;
  const id = useId();
  return (
    <>
      <AriakitButton
        type={type}
        disabled={disabled}
        accessibleWhenDisabled
        data-unready={unready ? "" : undefined}
        className={`${styles.button} ${look === "main" ? styles.main : styles.quiet}`}
        {...(onClick ? { onClick } : {})}
        {...(unavailable ? { "aria-disabled": true } : {})}
        {...(description === null ? {} : { "aria-describedby": id })}
      >
        {children}
      </AriakitButton>
      {description !== null && (
        <span id={id} hidden>
          {description}
        </span>
      )}
    </>
  );
}
