// Generates the Helm chart and kustomizations in deploy/; with --check, reports stale files.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chart } from './deploy/helm.ts'
import { kustomize } from './deploy/kustomize.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
  license: string
}
const folders: readonly (readonly [string, ReadonlyMap<string, string>])[] = [
  ['deploy/helm/tapgate', chart(version, license)],
  ['deploy/kustomize', kustomize(version)],
]
const isCheck = process.argv.includes('--check')

for (const [folder, files] of folders) {
  for (const [file, text] of files) if (read(join(root, folder, file)) !== text) settle(folder, file, text)
  for (const file of present(join(root, folder))) if (!files.has(file)) settle(folder, file, undefined)
}

function settle(folder: string, file: string, text: string | undefined): void {
  const path = join(root, folder, file)
  if (isCheck) {
    console.error(`${join(folder, file)} is stale, run npm run gen`)
    process.exitCode = 1
  } else if (text === undefined) rmSync(path)
  else {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    console.log(`wrote ${join(folder, file)}`)
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function present(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => relative(folder, join(entry.parentPath, entry.name)))
  } catch {
    return []
  }
}
