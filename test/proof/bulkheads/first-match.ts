import type { ChildProcess } from 'node:child_process'

/** Resolves with the first text of this form that a program writes; rejects when it ends without. */
export function firstMatch(child: ChildProcess, from: 'stdout' | 'stderr', what: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child[from]?.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-10_000)
      const found = what.exec(text)?.[0]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error(`it ended: ${text}`)))
  })
}
