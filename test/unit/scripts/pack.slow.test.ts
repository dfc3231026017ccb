import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { test, type TestContext } from 'node:test'
import { directory, PACKAGE } from '../../e2e/cli/run.ts'

interface Small {
  readonly cwd: string
  manifest(): Promise<string>
  /** Runs `npm pack` in a directory of it. */
  pack(from: string, ...args: string[]): ReturnType<typeof spawnSync>
}

/** A small package that is packed as ours is. */
async function small(t: TestContext, others: Readonly<Record<string, string>> = {}): Promise<Small> {
  const cwd = await directory(t, { 'there/in/.keep': '', file: '' })
  const own = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const { prepack = '', postpack = '' } = own.scripts
  const scripts = { prepack, postpack, build: 'true', ...others }
  const manifest = { name: 'small', version: '1.0.0', type: 'module', scripts }
  // Of the npm that runs the tests nothing is passed on.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD)/i.test(name)))
  await writeFile(join(cwd, 'package.json'), JSON.stringify(manifest, undefined, 2))
  await mkdir(join(cwd, 'scripts'))
  for (const file of ['scripts/pack.ts', 'scripts/tarball.ts']) await copyFile(join(PACKAGE, file), join(cwd, file))
  return {
    cwd,
    manifest: () => readFile(join(cwd, 'package.json'), 'utf8'),
    pack: (from, ...args) =>
      spawnSync('npm', ['pack', ...args], {
        cwd: join(cwd, from),
        env,
        encoding: 'utf8',
        shell: process.platform === 'win32',
      }),
  }
}

test('npm pack into a directory that is not there says so, and leaves package.json and dist as they are', async t => {
  const { cwd, manifest, pack } = await small(t)
  const before = await manifest()
  await mkdir(join(cwd, 'dist'))

  for (const missing of ['nowhere', 'file']) {
    const { status, stderr } = pack('.', '--pack-destination', missing)
    assert.notEqual(status, 0)
    assert.match(String(stderr), new RegExp(`--pack-destination .*${missing} is not a directory`))
    assert.equal(await manifest(), before)
    assert.deepEqual(await readdir(join(cwd, 'dist')), [])
  }
})

/** Contents of a tarball, by the paths of its files. */
async function contents(cwd: string, tarball: string): Promise<Map<string, string>> {
  const out = join(cwd, `out-${randomUUID()}`)
  await mkdir(out)
  const { status, stderr } = spawnSync('tar', ['-xzf', tarball, '-C', out], { cwd, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const files = await readdir(out, { recursive: true, withFileTypes: true })
  const paths = files.filter(file => file.isFile()).map(file => join(file.parentPath, file.name))
  const texts = paths.map(async path => [relative(out, path), await readFile(path, 'utf8')] as const)
  return new Map(await Promise.all(texts))
}

for (const { from, args, at } of [
  { from: '.', args: ['--pack-destination', 'there'], at: 'there' },
  { from: '.', args: [], at: '.' },
  { from: 'there', args: ['..'], at: 'there' },
  { from: 'there', args: ['..', '--pack-destination', 'in'], at: 'there/in' },
])
  test(`npm pack ${args.join(' ')} in ${from} strips the package.json in its tarball, and nothing else of it or of the checkout`, async t => {
    const { cwd, manifest, pack } = await small(t)
    const before = await manifest()

    const { status, stderr } = pack(from, ...args)

    assert.equal(status, 0, String(stderr))
    assert.equal(await manifest(), before)
    const packed = await contents(cwd, join(at, 'small-1.0.0.tgz'))
    const { scripts, ...published } = JSON.parse(before) as Record<string, unknown>
    const found = JSON.parse(packed.get('package/package.json') ?? '') as object
    assert.notEqual(scripts, undefined)
    assert.deepEqual(found, published)
    assert.equal(packed.get('package/scripts/pack.ts'), await readFile(join(cwd, 'scripts/pack.ts'), 'utf8'))
    assert.deepEqual(
      (await readdir(join(cwd, at))).filter(name => name.includes('part')),
      [],
    )
  })

test('npm pack --dry-run writes nothing, and touches no tarball of before', async t => {
  const { cwd, pack } = await small(t)
  await writeFile(join(cwd, 'small-1.0.0.tgz'), 'of before')

  const { status, stderr } = pack('.', '--dry-run')

  assert.equal(status, 0, String(stderr))
  assert.equal(await readFile(join(cwd, 'small-1.0.0.tgz'), 'utf8'), 'of before')
})

test(
  'an npm pack that is killed half way leaves package.json as it was, and the tarball as npm wrote it',
  { skip: process.platform === 'win32' ? 'a shell kills it' : false },
  async t => {
    const { cwd, manifest, pack } = await small(t, { postpack: 'kill -9 $PPID' })
    const before = await manifest()

    const { signal } = pack('.')

    assert.equal(signal, 'SIGKILL')
    assert.equal(await manifest(), before)
    const packed = await contents(cwd, 'small-1.0.0.tgz')
    assert.equal(packed.get('package/package.json'), before)
  },
)
