// Writes dist, and the files that the sources import and git does not keep. Does nothing where dist is what these sources make.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { digestOf } from './digest.ts'

/** Files that a build reads, and those that it writes. */
const FILES = [
  '{package,package-lock}.json',
  'tsconfig*.json',
  '{bin,plugins,schemas,scripts,src}/**',
  'dist/**',
]
/** Holds the digest of all these after the last build. */
const BUILT = 'dist/.built'

const STEPS = [
  ['schemas/generate.mjs', '--uncommitted'],
  ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'],
  ['scripts/bundle.ts'],
] as const

process.chdir(fileURLToPath(new URL('../', import.meta.url)))
if (lastBuild() === now()) console.log('dist is what these sources make')
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

/** Another Node has other builtins, whose names are a part of what is built. */
function now(): string {
  return `${process.version} ${digestOf('.', FILES)}`
}
