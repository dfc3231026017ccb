import { execFile, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { install } from './install-client.ts'

/** A client from npm: how it is set up, asked what it sees, and given a prompt. */
interface RealClient {
  /** As `gateway connect` knows it. */
  readonly name: string
  readonly spec: string
  readonly program: string
  /** Its own command that connects to each server, with what its output must show. */
  readonly list: { readonly args: readonly string[]; readonly input?: string; readonly shows: RegExp }
  /** Settings beside those that `gateway connect` writes. */
  settings?(model: string): { readonly file: string; readonly text: string }
  env?(model: string): Readonly<Record<string, string>>
  prompt(script: string): readonly string[]
}

const CODEX_ASKS = [
  { id: 0, method: 'initialize', params: { clientInfo: { name: 'proof', version: '1' } } },
  { method: 'initialized' },
  { id: 1, method: 'mcpServerStatus/list', params: {} },
]

export const REAL_CLIENTS: readonly RealClient[] = [
  {
    name: 'claude-code',
    spec: '@anthropic-ai/claude-code@2.1.330',
    program: 'claude',
    list: { args: ['mcp', 'list'], shows: /gateway: .*Connected/ },
    env: model => ({
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: 'sk-none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      ENABLE_TOOL_SEARCH: 'false',
    }),
    prompt: script => ['-p', script, '--allowedTools', 'mcp__gateway'],
  },
  {
    name: 'codex',
    spec: '@openai/codex@0.169.0',
    program: 'codex',
    list: {
      args: ['app-server'],
      input: CODEX_ASKS.map(message => `${JSON.stringify(message)}\n`).join(''),
      shows: /s1__echo/,
    },
    settings: model => ({
      file: '.codex/config.toml',
      text: [
        'model = "fake-1"',
        'model_provider = "proof"',
        'approval_policy = "never"',
        '',
        '[model_providers.proof]',
        'name = "proof"',
        `base_url = "${model}/v1"`,
        'wire_api = "responses"',
        '',
      ].join('\n'),
    }),
    prompt: script => [
      'exec',
      '--skip-git-repo-check',
      ...['--sandbox', 'read-only'],
      ...['-c', 'mcp_servers.gateway.default_tools_approval_mode="approve"'],
      script,
    ],
  },
  {
    name: 'gemini',
    spec: '@google/gemini-cli@0.61.0',
    program: 'gemini',
    list: { args: ['mcp', 'list'], shows: /gateway: .* - Connected/ },
    settings: () => ({
      file: '.gemini/settings.json',
      text: JSON.stringify({
        security: { folderTrust: { enabled: false }, auth: { selectedType: 'gemini-api-key' } },
      }),
    }),
    env: model => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model }),
    prompt: script => ['-m', 'gemini-2.5-pro', '--yolo', '-p', script],
  },
  {
    name: 'opencode',
    spec: 'opencode-ai@1.18.33',
    program: 'opencode',
    list: { args: ['mcp', 'list'], shows: /gateway\s+connected/ },
    settings: model => ({
      file: '.config/opencode/opencode.json',
      text: JSON.stringify({
        model: 'proof/fake-1',
        provider: {
          proof: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${model}/v1`, apiKey: 'none' },
            models: { 'fake-1': {} },
          },
        },
        permission: { '*': 'allow' },
      }),
    }),
    // What it gets as an argument it quotes.
    prompt: () => ['run'],
  },
]

const STEP_MS = 120_000
const TURN_MS = 900_000

/** A real client in a home and a project of its own. */
export class Installation {
  readonly client: RealClient
  readonly home: string
  readonly project: string
  readonly env: Readonly<Record<string, string>>
  readonly #program: string

  private constructor(client: RealClient, place: { home: string; project: string }, program: string, model: string) {
    this.client = client
    this.home = place.home
    this.project = place.project
    this.#program = program
    const path = `${dirname(process.execPath)}:${process.env.PATH ?? ''}`
    const own = { PATH: path, HOME: place.home, TERM: 'dumb', NO_COLOR: '1', NO_PROXY: '127.0.0.1' }
    this.env = { ...own, ...client.env?.(model) }
  }

  static async make(client: RealClient, folder: string, model: string): Promise<Installation> {
    const { bin } = await install(client.spec)
    const place = {
      home: join(folder, `home-${client.name}`),
      project: join(folder, `project-${client.name}`),
    }
    await mkdir(place.project, { recursive: true })
    const { file, text } = client.settings?.(model) ?? { file: '.keep', text: '' }
    await mkdir(dirname(join(place.home, file)), { recursive: true })
    await writeFile(join(place.home, file), text)
    return new Installation(client, place, join(bin, client.program), model)
  }

  /** What the client's own command says of the servers it has. */
  list(): Promise<{ shows: boolean; said: string }> {
    const { args, input, shows } = this.client.list
    return new Promise(resolve => {
      let said = ''
      const child = spawn(this.#program, args, { cwd: this.project, env: this.env })
      const end = setTimeout(() => child.kill('SIGKILL'), STEP_MS)
      const hear = (chunk: Buffer): void => {
        said += stripVTControlCharacters(chunk.toString())
        // Some go on until their stdin ends.
        if (shows.test(said)) child.stdin.end()
      }
      child.stdout.on('data', hear)
      child.stderr.on('data', hear)
      child.stdin.on('error', () => undefined)
      if (input === undefined) child.stdin.end()
      else child.stdin.write(input)
      child.on('error', error => (said += error.message))
      child.on('close', () => {
        clearTimeout(end)
        resolve({ shows: shows.test(said), said })
      })
    })
  }

  /** Gives the client a prompt, and resolves with all that it prints. */
  turn(script: string): Promise<string> {
    const options = { cwd: this.project, env: this.env, timeout: TURN_MS, maxBuffer: 64 << 20 }
    let told: (text: string) => void = () => undefined
    const said = new Promise<string>(resolve => (told = resolve))
    const child = execFile(this.#program, this.client.prompt(script), options, (error, stdout, stderr) =>
      told(`${stdout}\n${error === null ? '' : `${error.message}\n${stderr}`}`),
    )
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(this.client.prompt(script).includes(script) ? '' : script)
    return said
  }
}
