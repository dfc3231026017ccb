// Compiles `src/protocol/json/wasm/proof.as` to WebAssembly and writes it as source text, reproducibly. `--check`
// reports a stale file.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../src/protocol/json/wasm/', import.meta.url))
const TARGET = join(FOLDER, 'proof.gen.ts')

/** Minimal typing: the compiler's own types change globals. */
interface Compiler {
  main(
    flags: readonly string[],
    files: {
      readFile(name: string): string | null
      writeFile(name: string, contents: Uint8Array): void
      listFiles(): readonly string[]
    },
  ): Promise<{ readonly error: Error | null; readonly stderr: { toString(): string } }>
}

type Options = Readonly<Record<string, string | number | true | readonly string[]>>

const COMPILER: string = 'assemblyscript/asc'
const OPTIONS: Options = {
  outFile: 'proof.wasm',
  optimizeLevel: 3,
  runtime: 'stub',
  noAssert: true,
  enable: ['simd'],
  // Two pages: bracket stack, 64 KiB input, and a margin.
  initialMemory: 2,
  maximumMemory: 2,
}

const { main } = (await import(COMPILER)) as Compiler
let wasm: Uint8Array = new Uint8Array()
const { error, stderr } = await main(['proof.ts', ...flags(OPTIONS)], {
  readFile: name => (name === 'proof.ts' ? readFileSync(join(FOLDER, 'proof.as'), 'utf8') : null),
  writeFile: (_name, contents) => void (wasm = contents),
  listFiles: () => [],
})
if (error !== null) {
  console.error(stderr.toString())
  process.exit(1)
}
const text = `// Written by \`npm run gen\` from proof.as: edit that.

/** WebAssembly module in base64. */
export const PROOF =
  '${Buffer.from(wasm).toString('base64')}'
`
if (!process.argv.includes('--check')) writeFileSync(TARGET, text)
else if (readFileSync(TARGET, 'utf8') !== text) {
  console.error('src/protocol/json/wasm/proof.gen.ts is stale, run npm run gen')
  process.exit(1)
}

function flags(options: Options): string[] {
  return Object.entries(options).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, String(value)],
  )
}
