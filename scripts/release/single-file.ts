// Builds one executable: Node with the packed package and what it needs inside. Node.js docs, "Single executable applications".
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { listRuntimePackages } from './runtime-packages.ts'

/** Marks where Node looks for the embedded program. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const POSTJECT = createRequire(import.meta.url).resolve('postject/dist/cli.js')
const BOOTSTRAP = new URL('./single-file-start.cjs', import.meta.url)

/** Builds the executable from a packed tarball; returns its path. */
export function buildSingleFile(tarball: string, name: string, output: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'single-file-'))
  try {
    const files = stage(tarball, join(directory, 'package'))
    const config = join(directory, 'config.json')
    const blob = join(directory, 'program.blob')
    const contents = files.map(file => readFileSync(join(directory, 'package', file)))
    writeFileSync(join(directory, 'files.zst'), zstdCompressSync(Buffer.concat(contents)))
    writeFileSync(join(directory, 'sizes'), JSON.stringify(files.map((file, at) => [file, contents[at]?.length])))
    writeFileSync(join(directory, 'start.cjs'), startProgram(join(directory, 'files.zst')))
    const assets = { files: join(directory, 'files.zst'), sizes: join(directory, 'sizes') }
    const program = { main: join(directory, 'start.cjs'), output: blob, disableExperimentalSEAWarning: true, assets }
    writeFileSync(config, JSON.stringify({ ...program, execArgv: ['--disable-warning=ExperimentalWarning'] }))
    execFileSync(process.execPath, ['--experimental-sea-config', config], { stdio: 'ignore' })
    const file = join(output, process.platform === 'win32' ? `${name}.exe` : name)
    copyFileSync(process.execPath, file)
    chmodSync(file, 0o755)
    const segment = process.platform === 'darwin' ? ['--macho-segment-name', 'NODE_SEA'] : []
    const flags = ['--sentinel-fuse', FUSE, ...segment]
    execFileSync(process.execPath, [POSTJECT, file, 'NODE_SEA_BLOB', blob, ...flags], { stdio: 'ignore' })
    if (process.platform === 'darwin') execFileSync('codesign', ['--sign', '-', '--force', file])
    return file
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Lays out the package with its runtime packages; returns the relative paths of the files. */
function stage(tarball: string, target: string): string[] {
  mkdirSync(target)
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'])
  const root = dirname(createRequire(import.meta.url).resolve('../../package.json'))
  const copied = listRuntimePackages().flatMap(({ path }) =>
    globSync(['**/*.{js,cjs,mjs,json,wasm}', '{LICENSE,LICENCE,License,license,NOTICE}*'], { cwd: join(root, path) })
      .filter(file => !file.startsWith('node_modules'))
      .map(file => join(path, file)),
  )
  for (const file of copied) {
    mkdirSync(dirname(join(target, file)), { recursive: true })
    copyFileSync(join(root, file), join(target, file))
  }
  const all = globSync('**/*', { cwd: target, withFileTypes: true }).filter(entry => entry.isFile())
  return all
    .map(entry => relative(target, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter(file => !/\.d\.[cm]?ts$|\.map$/.test(file))
    .sort()
}

/** The starting program, which names the directory of the files by their digest. */
function startProgram(files: string): string {
  const digest = createHash('sha256').update(readFileSync(files)).digest('hex').slice(0, 16)
  return readFileSync(BOOTSTRAP, 'utf8').replace('DIGEST_OF_FILES', digest)
}
