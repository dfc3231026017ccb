// Runs a proof: `npm run proof -- access`; lists all with `npm run proof -- --list`.
import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOM = fileURLToPath(new URL('../test/proof', import.meta.url))

interface Proof {
  readonly file: string
  /** First sentence of its description. */
  readonly says: string
}

/** Proofs by name: files in that folder that begin with a comment. */
function proofs(): Map<string, Proof> {
  const files = globSync('{*,one-set/*,replicas/*}.ts', { cwd: ROOM })
  return new Map(
    files.flatMap(file => {
      const text = readFileSync(join(ROOM, file), 'utf8')
      if (!/^\/[/*]/.test(text)) return []
      const comment = /^(?:\/\*\*[\s\S]*?\*\/|(?:\/\/.*\n)+)/.exec(text)?.[0] ?? ''
      const words = comment.replace(/^[/* ]+|\s*\*\/$/gm, ' ').replace(/\s+/g, ' ')
      const says = words.trim().split(/(?<=\.) |`npm run|: npm run/)[0] ?? ''
      return [[basename(file, '.ts'), { file, says }]]
    }),
  )
}

const [name = '--list', ...rest] = process.argv.slice(2)
const known = proofs()
const proof = known.get(name)
if (name === '--list') for (const [one, { says }] of known) console.log(`${one.padEnd(20)} ${says}`)
else if (proof === undefined) {
  console.error(`no proof named "${name}": ${[...known.keys()].join(', ')}`)
  process.exitCode = 2
} else {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOM, proof.file), ...rest], {
    stdio: 'inherit',
  })
  child.once('exit', (code, signal) => (process.exitCode = signal === null ? (code ?? 1) : 1))
}
