/* What is on a picture: classify PICTURE.png classifier.weights */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classifier.h"

enum { side = 96, classes = 10 };

/* The picture as RGB, its middle or all of it, by the nearest pixel. */
static int read_picture(const char* path, uint8_t* pixels) {
  png_image image = {.version = PNG_IMAGE_VERSION};
  if (!png_image_begin_read_from_file(&image, path)) return fprintf(stderr, "%s: %s\n", path, image.message), 1;
  image.format = PNG_FORMAT_RGB;
  png_bytep all = malloc(PNG_IMAGE_SIZE(image));
  if (all == NULL || !png_image_finish_read(&image, NULL, all, 0, NULL)) {
    fprintf(stderr, "%s: %s\n", path, all == NULL ? "too large" : image.message);
    png_image_free(&image);
    free(all);
    return 1;
  }
  const size_t width = image.width, height = image.height, square = width < height ? width : height;
  for (size_t y = 0; y < side; ++y) {
    for (size_t x = 0; x < side; ++x) {
      const size_t row = (height - square) / 2 + y * square / side, column = (width - square) / 2 + x * square / side;
      memcpy(pixels + 3 * (y * side + x), all + 3 * (row * width + column), 3);
    }
  }
  free(all);
  return 0;
}

static int fails(int32_t code) {
  if (code != 0) fprintf(stderr, "%s\n", classifier_message(code));
  return code != 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "classify PICTURE.png classifier.weights\n"), 2;
  uint8_t pixels[side * side * 3];
  float probabilities[classes];
  tektite_aot_weights weights;
  if (read_picture(argv[1], pixels) || fails(classifier_map_weights(argv[2], TEKTITE_AOT_CHECK_ALL, NULL, &weights))) return 1;
  const classifier_args args = {pixels};
  classifier_results results = {probabilities};
  tektite_aot_arena arena = {NULL, classifier_arena_bytes(NULL)};
  arena.data = aligned_alloc(64, (size_t)(arena.bytes + 63) / 64 * 64);
  if (fails(classifier_run(&args, &results, arena, &weights, NULL))) return 1;
  int best = 0;
  for (int i = 1; i < classes; ++i) best = probabilities[i] > probabilities[best] ? i : best;
  printf("class %d, probability %.4f\n", best, (double)probabilities[best]);
  free(arena.data);
  classifier_unmap_weights(&weights);
  return 0;
}
