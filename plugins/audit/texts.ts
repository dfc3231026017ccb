/** Longer ones are cut: what a peer calls itself must not fill the disk. */
const LONGEST = 256
const MOST = 4096

/** What peers say, as JSON strings without secrets. The same few come again and again, so they are written once. */
export class Texts {
  readonly #hide: (text: string) => string
  readonly #known = new Map<string, string>()
  readonly #knownJson = new Map<string, string>()

  constructor(hide: (text: string) => string) {
    this.#hide = hide
  }

  of(text: string): string {
    return this.#known.get(text) ?? this.#keep(this.#known, text, this.#quoted(text))
  }

  /** The same for what is JSON text already. */
  json(text: string): string {
    return this.#knownJson.get(text) ?? this.#keep(this.#knownJson, text, this.#hide(text))
  }

  #quoted(text: string): string {
    // Hidden before it is cut, or the half of a secret would stay.
    const shown = this.#hide(text)
    return JSON.stringify(shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown)
  }

  #keep(known: Map<string, string>, text: string, shown: string): string {
    if (text.length > 2 * LONGEST) return shown
    if (known.size >= MOST) known.clear()
    known.set(text, shown)
    return shown
  }
}
