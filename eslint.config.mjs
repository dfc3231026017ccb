import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'
import ts from 'typescript'

const sizes = lines => ({
  'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
  'max-lines-per-function': ['error', { max: lines, skipBlankLines: true, skipComments: true }],
  complexity: ['error', 10],
})

const noDefaultExport = {
  selector: 'ExportDefaultDeclaration',
  message: 'Export by name; only oclif commands and plugins in examples have a default export.',
}

// What eslint itself recommends and the type checker does not already see.
const plainMistakes = [
  'no-cond-assign',
  'no-constant-condition',
  'no-control-regex',
  'no-empty',
  'no-empty-character-class',
  'no-irregular-whitespace',
  'no-loss-of-precision',
  'no-misleading-character-class',
  'no-prototype-builtins',
  'no-regex-spaces',
  'no-self-assign',
  'no-sparse-arrays',
  'no-unsafe-finally',
  'no-useless-backreference',
  'no-useless-catch',
  'no-useless-escape',
]

const noAfterOfOneTest = {
  selector: "CallExpression[callee.object.name='t'][callee.property.name='after']",
  message: 'Use `cleanup(t, task)`: t.after runs the first task first, and none after one that fails.',
}

const RANKS = [/^node:/, /^[^.]/, /^\./]

/** Imports stand in this order: Node's own, packages, ours. */
const importOrder = {
  create(context) {
    let last = 0
    return {
      ImportDeclaration(node) {
        const rank = RANKS.findIndex(kind => kind.test(node.source.value))
        if (rank < last) context.report({ node, message: 'Import node: first, then packages, then our own files.' })
        last = Math.max(last, rank)
      },
    }
  },
}

/** What plugins import has a doc comment, where it is exported or where it is declared. */
const documentedExports = {
  create(context) {
    const { program, esTreeNodeToTSNodeMap } = context.sourceCode.parserServices
    return {
      Program(node) {
        const checker = program.getTypeChecker()
        const module = checker.getSymbolAtLocation(esTreeNodeToTSNodeMap.get(node))
        for (const symbol of checker.getExportsOfModule(module)) {
          const target = symbol.declarations.every(isRenamed) ? checker.getAliasedSymbol(symbol) : symbol
          if (target.getDocumentationComment(checker).length === 0)
            context.report({ node, message: `Say in a doc comment what "${symbol.name}" is.` })
        }
      },
    }
  },
}

const isRenamed = ({ kind }) => kind === ts.SyntaxKind.ExportSpecifier

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', '**/*.gen.*']),
  {
    files: ['**/*.{ts,js,mjs}'],
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { own: { rules: { 'import-order': importOrder, 'documented-exports': documentedExports } } },
    rules: {
      'own/import-order': 'error',
      ...sizes(60),
      ...Object.fromEntries(plainMistakes.map(rule => [rule, 'error'])),
      eqeqeq: 'error',
      'no-restricted-syntax': ['error', noDefaultExport],
      'no-else-return': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'object-shorthand': 'error',
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // `return void fire()` and arrows that only call something are the house style.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // A tap may return nothing: `Answer | void` says so.
      '@typescript-eslint/no-invalid-void-type': 'off',
      // Numbers read well in texts.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // Maps and hook names give a return type its meaning, though only one argument uses it.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // An interface of the project may ask for a promise where nothing is awaited.
      '@typescript-eslint/require-await': 'off',
      // What a wire or a user's file says is not to be believed, whatever its type.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Texts take whatever they are given.
      '@typescript-eslint/no-base-to-string': 'off',
      // Interfaces of plain functions are taken apart: `setup({ options, hooks })`. Classes with #state fail at once.
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    files: ['src/cli/commands/**/*.ts', 'examples/**/*.{ts,js}', '*.config.mjs'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['test/**/*.ts', '**/*.test.ts'],
    rules: {
      ...sizes(120),
      'no-restricted-syntax': ['error', noDefaultExport, noAfterOfOneTest],
      // Peers of the legacy era use what the SDKs have deprecated.
      '@typescript-eslint/no-deprecated': 'off',
      // node:test returns promises that the runner itself waits for.
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', package: 'node:test', name: ['test', 'it', 'describe', 'suite'] },
          ],
        },
      ],
    },
  },
  {
    // Mistakes on purpose, for the compiler to find.
    files: ['test/types/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unused-expressions': 'off',
    },
  },
  { files: ['src/plugin.ts'], rules: { 'own/documented-exports': 'error' } },
  { files: ['src/errors/table*.ts'], rules: { 'max-lines': 'off' } },
)
