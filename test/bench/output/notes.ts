/** All that is kept by hand: sections of notes.md, by their heading. */

export interface Notes {
  /** The text below a heading; empty where there is none. */
  of(heading: string): string
}

export function notesIn(text: string): Notes {
  const sections = new Map<string, string>()
  for (const part of text.split(/^## /m).slice(1)) {
    const end = part.indexOf('\n')
    sections.set(part.slice(0, end).trim(), part.slice(end).trim())
  }
  return { of: heading => sections.get(heading) ?? '' }
}
