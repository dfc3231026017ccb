// Builds dist and generated source files. Does nothing if dist is up to date.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { digestOf } from './digest.ts'

/** Build inputs and outputs. */
const FILES = ['{package,package-lock}.json', 'tsconfig*.json', '{bin,plugins,schemas,scripts,src}/**', 'dist/**']
/** Digest after the last build. */
const BUILT = 'dist/.built'

const STEPS = [
  ['schemas/generate.mjs'],
  ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'],
  ['scripts/bundle.ts'],
] as const

process.chdir(fileURLToPath(new URL('../', import.meta.url)))
if (lastBuild() === now()) console.log('dist is up to date')
else build()

function build(): void {
  for (const step of STEPS) {
    const { status } = spawnSync(process.execPath, step, { stdio: 'inherit' })
    if (status !== 0) process.exit(status ?? 1)
  }
  writeFileSync(BUILT, now())
}

function lastBuild(): string | undefined {
  try {
    return readFileSync(BUILT, 'utf8')
  } catch {
    return undefined
  }
}

/** Includes the Node version, as its builtins are part of the output. */
function now(): string {
  return `${process.version} ${digestOf('.', FILES)}`
}
